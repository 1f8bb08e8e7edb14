"""An auditor asks whether the record is what was written."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from queues import audit
from queues.models import AuditEvent

pytestmark = pytest.mark.usefixtures("commits")


def run(*arguments: str) -> tuple[str, int]:
    """Output of the command, and its status."""
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
    assert said.startswith("The audit is intact ")
    assert f"up to row {event.position}. Note {event.position}:" in said
    document = json.loads(run("--json")[0])
    assert document == {
        "intact": True,
        "rows": event.position,
        "pruned_through": document["pruned_through"],
        "hash": document["hash"],
        "first_bad": None,
        "guards": [],
    }


def test_a_replaced_function_is_named() -> None:
    latest()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("alter function signalbox._record_audit security invoker")

        said, status = run()
        document = json.loads(run("--json")[0])
        transaction.set_rollback(True)

    assert status == 1
    assert "The audit is not guarded as in this release: the function _record_audit is not this release's." in said
    assert "Run `manage.py migrate`" in said
    assert (document["intact"], document["first_bad"]) == (False, None)


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


def test_old_rows_go_to_files_on_request(tmp_path: Path) -> None:
    latest()
    event = latest()
    said = StringIO()
    call_command("audit", "prune", "--days", "1", "--to", str(tmp_path), stdout=said)
    assert "are older than 1 days. --yes exports them to" in said.getvalue()
    assert list(tmp_path.iterdir()) == []

    done = StringIO()
    call_command("audit", "prune", "--days", "1", "--to", str(tmp_path), "--yes", stdout=done)
    assert "Nothing older is left." in done.getvalue()
    assert AuditEvent.objects.filter(pk=event.pk).exists()


def test_without_a_retention_nothing_is_pruned() -> None:
    with pytest.raises(CommandError, match="No retention is set"):
        call_command("audit", "prune", "--yes")
