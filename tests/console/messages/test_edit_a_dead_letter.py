"""One dead letter is edited, compared with its original and sent again; masked fields stay where they belong."""

from __future__ import annotations

import html
import json
from typing import Any

import pytest

from dlq.jobs.models import Redrive
from dlq.masking import rules
from dlq.redrives import redrives
from dlq.redrives.plan_models import Plan
from queues.messages.story import body_of
from queues.models import AuditEvent, DeadLetter
from tests.console.browsers import Browser, Page
from tests.console.masking.masks import no_rules_left
from tests.engine import Engine

__all__ = ["no_rules_left"]


pytestmark = pytest.mark.usefixtures("no_rules_left")


def die(engine: Engine, payload: Any) -> int:
    message_id = engine.send(payload)
    engine.nack(engine.receive_one()[1], reason="rejected", error_class="BadOrder")
    return message_id


def payload_of(engine: Engine, message_id: int) -> Any:
    """The payload as the next consumer receives it."""
    body = body_of(engine.queue_id, message_id)
    assert body is not None
    return body.payload


def address(engine: Engine, message_id: int) -> str:
    return f"/queues/{engine.queue}/messages/{message_id}/edit"


def typed(page: Page) -> str:
    """The payload in the box."""
    return html.unescape(page.html.split('id="id_payload"')[1].split(">", 1)[1].split("</textarea>")[0]).lstrip("\n")


def edited(browser: Browser, path: str, payload: str, status: int = 302) -> Page:
    version = browser.see(path).fields()["version"]
    return browser.submit(path, status, payload=payload, reason="the bank asked", version=version)


def test_an_edit_is_planned_compared_and_sent(operator: Browser, engine: Engine) -> None:
    message_id = die(engine, {"order": 7, "region": "us", "note": "<b>x</b>"})
    page = operator.see(f"/queues/{engine.queue}/messages/{message_id}")
    path = page.link("Edit and redrive…")
    document = json.loads(typed(operator.see(path)))
    assert document == {"order": 7, "region": "us", "note": "<b>x</b>"}

    plan_page = edited(operator, path, json.dumps(document | {"region": "eu"}))

    assert "the bank asked" in AuditEvent.objects.filter(action="plan.create").latest("audit_event_id").reason
    assert all(line in plan_page.text for line in ('- "region": "us"', '+ "region": "eu"'))
    plan = Plan.objects.latest("plan_id")
    assert (plan.count, plan.options["patch"]) == (1, [{"op": "replace", "path": "/region", "value": "eu"}])
    operator.submit(f"/redrives/plans/{plan.pk}/run", rate_per_second="")
    redrives.run_in_foreground(Redrive.objects.latest("redrive_id").pk)
    assert payload_of(engine, message_id) == document | {"region": "eu"}
    assert "Payload before the patch" in operator.see(f"/queues/{engine.queue}/messages/{message_id}").text


@pytest.mark.parametrize(
    ("payload", "mistake"),
    [
        ('{\n  "a": 1,\n  "b": \n}', "Line 4, column 1"),
        ('{\n  "a": 1,\n  "a": 2\n}', "Line 3: the key 'a' stands twice"),
        ("[\n1,\nNaN]", "Line 3: NaN is not a JSON value"),
        ("[\n0.12345678901234567890]", "Line 2: the number 0.12345678901234567890 would be rounded"),
        ("[" * 100_000, "too deep"),
        ('"\\u0000"', "contains the character"),
        ('{"order": 7}', "The payload is unchanged"),
    ],
)
def test_a_mistake_names_its_line_and_keeps_the_text(
    operator: Browser, engine: Engine, payload: str, mistake: str
) -> None:
    message_id = die(engine, {"order": 7})

    page = edited(operator, address(engine, message_id), payload, 422)

    assert mistake in page.text
    assert typed(page) == payload
    assert not Plan.objects.filter(filter_text=f"id:{message_id}").exists()


def test_true_is_not_one(operator: Browser, engine: Engine) -> None:
    message_id = die(engine, {"flag": True})

    edited(operator, address(engine, message_id), '{"flag": 1}')
    plan = Plan.objects.latest("plan_id")
    operator.submit(f"/redrives/plans/{plan.pk}/run", rate_per_second="")
    redrives.run_in_foreground(Redrive.objects.latest("redrive_id").pk)

    assert payload_of(engine, message_id)["flag"] is not True


def test_an_edit_of_a_payload_that_has_changed_is_refused(operator: Browser, engine: Engine) -> None:
    message_id = die(engine, {"order": 7})
    version = operator.see(address(engine, message_id)).fields()["version"]
    DeadLetter.objects.filter(message_id=message_id).update(payload={"order": "erased"})

    page = operator.submit(address(engine, message_id), 422, payload='{"order": 8}', reason="r", version=version)

    assert "The payload has changed since this page was opened" in page.text


def test_masked_fields_keep_an_operator_out(operator: Browser, engine: Engine) -> None:
    message_id = die(engine, {"card": "4111222233334444", "order": 7})
    rules.add(part="payload", path="card", queue=engine.queue, actor="ana")

    denied = operator.see(f"/queues/{engine.queue}/messages/{message_id}").all("span", aria_disabled="true")
    assert any("masked fields: payload.card" in one.text for one in denied if one.text.startswith("Edit"))
    for page in (
        operator.see(address(engine, message_id), 403),
        operator.submit(address(engine, message_id), 403, payload='{"card": "x"}', reason="r", version="v"),
    ):
        assert "The payload has masked fields: payload.card." in page.text
        assert "4111222233334444" not in page.html


def test_who_may_reveal_says_why_first(admin: Browser, engine: Engine) -> None:
    message_id = die(engine, {"card": "4111222233334444", "order": 7})
    rules.add(part="payload", path="card", queue=engine.queue, actor="ana")
    path = address(engine, message_id)

    assert "4111222233334444" not in admin.see(path).html
    page = admin.submit(path, 200, reason="the customer called")

    assert json.loads(typed(page)) == {"card": "4111222233334444", "order": 7}
    event = AuditEvent.objects.get(action="message.reveal", queue_id=engine.queue_id)
    assert (event.reason, event.details["fields"]) == ("the customer called", ["payload.card"])
    fields = page.fields()
    plan = admin.submit(path, payload='{"card": "4111222233334444", "order": 8}', reason="r", version=fields["version"])
    assert "4111222233334444" not in plan.html


def test_only_a_dead_letter_can_be_edited(operator: Browser, engine: Engine) -> None:
    message_id = engine.send({"n": 1})

    assert operator.get(address(engine, message_id)).status_code == 302
    assert "only a dead letter can be edited" in operator.see(f"/queues/{engine.queue}/messages/{message_id}").text


def test_a_viewer_sees_each_verb_with_the_reason(viewer: Browser, engine: Engine) -> None:
    message_id = die(engine, {"order": 7})

    page = viewer.see(f"/queues/{engine.queue}/messages/{message_id}")

    denied = {one.text.split(",")[0].strip() for one in page.all("span", aria_disabled="true")}
    assert {"Redrive…", "Edit and redrive…", "Delete…"} <= denied
    viewer.see(address(engine, message_id), 403)
