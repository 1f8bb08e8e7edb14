"""The oldest rows of the audit go to files, and what is left is as provable as before."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from queues import audit
from queues.audit import pruning
from queues.audit.pruning import prune
from queues.errors import InvalidArgument
from queues.models import AuditEvent
from queues.upkeep import upkeep

pytestmark = pytest.mark.usefixtures("commits")

Connect = Callable[..., psycopg.Connection[Any]]


def record(*actions: str) -> list[AuditEvent]:
    ids = [audit.record("ana", action, None, "why", {"ratio": 0.1, "text": 'ü"\\'}).pk for action in actions]
    return [AuditEvent.objects.get(pk=event_id) for event_id in ids]


def lines_of(path: Path) -> list[str]:
    """Rows of other tests may hold what Python takes for the end of a line and JSON Lines does not."""
    return path.read_text().removesuffix("\n").split("\n")


def now(connection: psycopg.Connection[Any]) -> datetime:
    row = connection.execute("select clock_timestamp()").fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


@pytest.fixture
def session(connect: Connect) -> psycopg.Connection[Any]:
    return connect()


@pytest.fixture
def pruned(session: psycopg.Connection[Any], tmp_path: Path) -> tuple[list[AuditEvent], list[AuditEvent], list[Path]]:
    """Three rows that went, two that stayed, and the files."""
    gone = record("test.one", "test.two", "test.three")
    before = now(session)
    left = record("test.four", "test.five")
    files = [path for path, _ in prune(session, before, tmp_path, actor="test")]
    return gone, left, files


@pytest.fixture
def intruder(connect: Connect) -> Iterator[psycopg.Connection[Any]]:
    """Role that bypasses triggers; its changes are rolled back."""
    connection = connect()
    connection.execute("begin")
    connection.execute("alter table signalbox.audit_event disable trigger user")
    connection.execute("alter table signalbox.audit_anchor disable trigger user")
    yield connection
    connection.execute("rollback")


def verdict(connection: psycopg.Connection[Any]) -> Any:
    row = connection.execute("select bad_position, complaint from signalbox.verify_audit()").fetchone()
    assert row is not None
    return row


Pruned = tuple[list[AuditEvent], list[AuditEvent], list[Path]]


def test_what_is_old_is_in_a_file_and_what_is_left_is_intact(pruned: Pruned) -> None:
    gone, left, files = pruned

    assert not AuditEvent.objects.filter(pk__in=[row.pk for row in gone]).exists()
    assert AuditEvent.objects.filter(pk__in=[row.pk for row in left]).count() == 2
    lines = [json.loads(line) for line in lines_of(files[-1])]
    assert [line["action"] for line in lines[-3:]] == ["test.one", "test.two", "test.three"]
    found = audit.verify()
    assert (found.intact, found.pruned) == (True, gone[2].position)
    assert found.last == AuditEvent.objects.order_by("-position").values_list("position", flat=True).first()


def test_the_audit_says_who_pruned_it_and_what_the_file_hashes_to(pruned: Pruned) -> None:
    gone, _, _ = pruned

    said = AuditEvent.objects.filter(action="audit.prune").latest("position")
    assert said.actor == "test"
    assert said.details["through"] == gone[2].position
    assert said.details["hash"] == bytes(gone[2].hash or b"").hex()
    assert said.details["export"].endswith(".jsonl")


def test_it_goes_on_from_there_and_can_be_pruned_again(
    pruned: Pruned, session: psycopg.Connection[Any], tmp_path: Path
) -> None:
    _, left, files = pruned
    record("test.six")
    more = [path for path, _ in prune(session, now(session), tmp_path, actor="test")]

    found = audit.verify(exports=[*files, *more])
    assert found.intact, found
    assert found.pruned > (left[1].position or 0)
    assert AuditEvent.objects.filter(position__lte=found.pruned).count() == 0


def test_the_last_row_stays(session: psycopg.Connection[Any], tmp_path: Path) -> None:
    record("test.last")
    list(prune(session, datetime(2100, 1, 1, tzinfo=UTC), tmp_path, actor="test", batches=1))

    assert AuditEvent.objects.exists()
    assert audit.verify().intact


def test_a_batch_goes_at_a_time(
    session: psycopg.Connection[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "BATCH_ROWS", 2)
    record("a", "b", "c", "d", "e")
    before = now(session)
    record("younger")

    files = [path for path, _ in prune(session, before, tmp_path, actor="test")]

    batches = [[json.loads(line)["action"] for line in lines_of(path)] for path in files]
    assert {len(batch) for batch in batches[:-1]} == {2}
    assert [action for batch in batches for action in batch][-5:] == ["a", "b", "c", "d", "e"]
    assert audit.verify(exports=files).intact


def test_nothing_old_leaves_everything(session: psycopg.Connection[Any], tmp_path: Path) -> None:
    record("test.kept")

    assert list(prune(session, datetime(2000, 1, 1, tzinfo=UTC), tmp_path, actor="test")) == []
    assert list(tmp_path.iterdir()) == []


class TwoDaysOn(datetime):
    """Clock at a fixed time."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) + timedelta(days=2)


def test_upkeep_prunes_by_the_retention_and_only_with_one(
    session: psycopg.Connection[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    gone, _ = record("test.one", "test.two")
    monkeypatch.setattr(upkeep, "datetime", TwoDaysOn)
    settings.AUDIT_EXPORT_FOLDER = str(tmp_path)
    chores = upkeep.Chores(session)

    chores.prune_audit()
    assert AuditEvent.objects.filter(pk=gone.pk).exists()

    settings.AUDIT_RETENTION_DAYS = 1
    chores.prune_audit()
    assert not AuditEvent.objects.filter(pk=gone.pk).exists()
    assert audit.verify().intact
    assert list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_removes_nothing(session: psycopg.Connection[Any], tmp_path: Path) -> None:
    rows = record("test.one", "test.two")
    blocked = tmp_path / "file"
    blocked.touch()

    with pytest.raises(OSError, match=r"exists|directory"):
        list(prune(session, now(session), blocked, actor="test"))

    assert AuditEvent.objects.filter(pk__in=[row.pk for row in rows]).count() == 2


def test_exports_that_do_not_fit_are_refused_by_the_database(session: psycopg.Connection[Any]) -> None:
    first, _ = record("test.one", "test.two")
    call = "select signalbox.prune_audit(%s, %s, 'somewhere', sha256('file'))"

    with pytest.raises(psycopg.Error, match="hash is not that of the row"):
        session.execute(call, [first.position, b"other"])
    with pytest.raises(psycopg.Error, match="stays"):
        session.execute(call, [(first.position or 0) + 1000, b"other"])
    assert AuditEvent.objects.filter(pk=first.pk).exists()


@pytest.mark.parametrize(
    "statement",
    [
        "delete from signalbox.audit_event where position = (select max(position) from signalbox.audit_event)",
        "insert into signalbox.audit_anchor values (1, sha256(''), 1, now(), now(), 'x', sha256(''))",
        "update signalbox.audit_anchor set hash = sha256('')",
        "delete from signalbox.audit_anchor",
        "truncate signalbox.audit_anchor",
    ],
)
def test_audit_rows_cannot_be_pruned_otherwise(pruned: Pruned, connect: Connect, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connect().execute(statement.encode())


def test_only_its_owner_prunes(pruned: Pruned, connect: Connect) -> None:
    _, left, _ = pruned
    session = connect(autocommit=False)
    session.execute("create role sender")
    session.execute("grant usage on schema signalbox to sender")
    session.execute("grant select, insert, update, delete on all tables in schema signalbox to sender")
    session.execute("set local role sender")

    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="only the owner"):
        session.execute("select signalbox.prune_audit(%s, %s, 'x', sha256(''))", [left[0].position, left[0].hash])


def test_more_cut_off_with_an_anchor_that_fits_is_found(pruned: Pruned, intruder: psycopg.Connection[Any]) -> None:
    _, left, _ = pruned
    intruder.execute(
        "insert into signalbox.audit_anchor values (%s, %s, 1, now(), now(), 'x', sha256(''))",
        [left[0].position, left[0].hash],
    )
    intruder.execute("delete from signalbox.audit_event where position <= %s", [left[0].position])

    assert verdict(intruder) == (left[0].position, "it was removed with all rows before it, and no row says by whom")


def test_an_anchor_that_is_gone_is_missed(pruned: Pruned, intruder: psycopg.Connection[Any]) -> None:
    gone, left, _ = pruned
    intruder.execute("delete from signalbox.audit_anchor")

    assert verdict(intruder) == (left[0].position, f"{gone[2].position} rows before it are missing")


def test_the_first_row_left_cannot_be_changed_or_removed(pruned: Pruned, intruder: psycopg.Connection[Any]) -> None:
    _, left, _ = pruned
    intruder.execute("savepoint before")
    intruder.execute("update signalbox.audit_event set reason = 'no' where audit_event_id = %s", [left[0].pk])
    assert verdict(intruder) == (left[0].position, "it is not what was written")
    intruder.execute("rollback to before")
    intruder.execute("delete from signalbox.audit_event where audit_event_id = %s", [left[0].pk])
    assert verdict(intruder) == (left[1].position, "the row before it is missing")


def test_a_row_that_is_put_back_is_found(pruned: Pruned, intruder: psycopg.Connection[Any]) -> None:
    gone, _, _ = pruned
    intruder.execute(
        "insert into signalbox.audit_event (actor, action, position, previous_hash, hash)"
        " values ('eve', 'x', %s, %s, %s)",
        [gone[2].position, gone[2].previous_hash, gone[2].hash],
    )

    assert verdict(intruder)[0] == gone[2].position


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda lines: [*lines[:-1], lines[-1].replace("test.three", "test.other")], "it is not what was written"),
        (lambda lines: [*lines[:-2], lines[-1]], "rows before it are missing"),
        (lambda lines: lines[:-1], "the exports end there, and not where the audit begins"),
    ],
)
def test_a_file_that_was_changed_is_found(pruned: Pruned, change: Any, complaint: str) -> None:
    _, _, files = pruned
    lines = lines_of(files[-1])
    files[-1].write_text("\n".join(change(lines)) + "\n")

    found = audit.verify(exports=files)
    assert not found.intact
    assert complaint in found.complaint


def test_what_was_noted_before_is_proved_with_the_file(pruned: Pruned) -> None:
    gone, _, files = pruned
    noted = (gone[0].position or 0, bytes(gone[0].hash or b"").hex())

    assert audit.verify(noted, files).intact
    assert audit.verify((noted[0], "0" * 64), files).complaint == "its hash is not the one that was noted"
    with pytest.raises(InvalidArgument, match="was pruned"):
        audit.verify(noted)
    assert audit.verify((gone[2].position or 0, bytes(gone[2].hash or b"").hex())).intact


def test_what_is_no_export_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"position": 1}\nnonsense\n')

    with pytest.raises(InvalidArgument, match="line 2 is no row of the audit"):
        audit.verify(exports=[path])
