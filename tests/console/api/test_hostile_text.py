"""Text that no table can hold, and text that means something elsewhere: refused with its field, or just text."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from queues.models import AuditEvent
from tests.console.api.callers import Answer, Caller
from tests.engine import Engine

HOSTILE = ["\x00", "a\x00b", "\ud800", "'; drop table signalbox.queue; --", "%s %(x)s {}", "\u202e", "x" * 501]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
@pytest.mark.parametrize("field", ["reason", "filter", "targetQueue"])
def test_a_redrive(caller: Caller, engine: Engine, field: str, text: str) -> None:
    engine.die()

    well_answered(caller.post(f"/v1/queues/{engine.queue}-dlq:redrive", {field: text}))


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
@pytest.mark.parametrize("field", ["reason", "states", "throughMessageId"])
def test_a_purge(caller: Caller, engine: Engine, field: str, text: str) -> None:
    seen = caller.post(f"/v1/queues/{engine.queue}:purge-plan").document
    told = {name: seen[name] for name in ("states", "count", "throughMessageId")}

    well_answered(
        caller.post(f"/v1/queues/{engine.queue}:purge", told | {field: [text] if field == "states" else text})
    )


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
@pytest.mark.parametrize(
    "path",
    [
        "/v1/queues?prefix=",
        "/v1/queues?tenant=",
        "/v1/queues?cursor=",
        "/v1/queues/Q/messages?filter=",
        "/v1/queues/Q/messages?cursor=",
        "/v1/queues/Q/messages?state=",
        "/v1/redrives?queue=",
        "/v1/redrives?cursor=",
        "/v1/redrives/",
        "/v1/purges/",
    ],
)
def test_an_address(caller: Caller, engine: Engine, path: str, text: str) -> None:
    written = quote(text.encode("utf-8", "surrogatepass"), safe="")

    well_answered(caller.get(path.replace("Q", engine.queue) + written))


def test_a_reason_is_kept_as_it_was_written(caller: Caller, engine: Engine) -> None:
    engine.die()
    reason = "<script>alert(1)</script> \u202e %s"

    job = caller.post(f"/v1/queues/{engine.queue}-dlq:redrive", {"reason": reason}).document

    assert job["reason"] == reason
    number = int(job["redriveId"].removeprefix("redrive_"))
    assert AuditEvent.objects.get(action="redrive.create", details__redrive_id=number).reason == reason


def well_answered(answer: Answer) -> None:
    """Check that the call was done or refused with a reason, without a server error."""
    assert answer.status < 500, answer.content
    if answer.status >= 400:
        assert answer.kind in ("invalid-argument", "queue-not-found", "job-not-found", "not-found", "unreadable-body")
