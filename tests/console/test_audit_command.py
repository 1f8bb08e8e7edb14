"""An auditor asks whether the record is what was written."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from queues import audit
from queues.models import AuditEvent

pytestmark = pytest.mark.usefixtures("commits")


def run(*arguments: str) -> tuple[str, int]:
    """What the command says, and its status."""
    said = StringIO()
    try:
        call_command("audit", "verify", *arguments, stdout=said)
    except SystemExit as ended:
        return said.getvalue(), int(ended.code or 0)
    return said.getvalue(), 0


def latest() -> AuditEvent:
    return AuditEvent.objects.get(pk=audit.record("ana", "test.verify").pk)


def test_an_intact_audit_says_up_to_which_row() -> None:
    event = latest()

    said, status = run()

    assert status == 0
    assert said.startswith(f"The audit is intact up to row {event.position}. Note {event.position}:")
    document = json.loads(run("--json")[0])
    assert document == {"intact": True, "rows": event.position, "hash": document["hash"], "first_bad": None}


def test_what_was_noted_must_still_hold() -> None:
    event = latest()
    noted = f"{event.position}:{bytes(event.hash or b'').hex()}"

    assert run("--expect", noted)[1] == 0
    said, status = run("--expect", f"{event.position}:{'0' * 64}")
    assert status == 1
    assert f"first bad row is row {event.position} (audit_event_id {event.pk})" in said
    bad = json.loads(run("--json", "--expect", f"{event.position}:{'0' * 64}")[0])["first_bad"]
    assert bad["row"] == event.position


def test_a_note_that_is_none_is_refused() -> None:
    with pytest.raises(CommandError, match="a row's number and its hash"):
        run("--expect", "yesterday")
