"""The audit is only ever added to, and what was done to it behind its back is found, at the row where it was done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from queues import audit
from queues.audit import exports
from queues.control import queues
from queues.database import sql_scripts
from queues.models import AuditEvent
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def three() -> list[AuditEvent]:
    """Rows that follow each other."""
    ids = [audit.record("ana", f"test.step-{n}", None, "why", {"n": n, "ratio": 0.1}).pk for n in range(3)]
    return [AuditEvent.objects.get(pk=event_id) for event_id in ids]


@pytest.fixture
def intruder(connect: Connect) -> Iterator[psycopg.Connection[Any]]:
    """Role that bypasses triggers; its changes are rolled back."""
    session = connect()
    session.execute("begin")
    session.execute("alter table signalbox.audit_event disable trigger user")
    yield session
    session.execute("rollback")


def verdict(session: psycopg.Connection[Any]) -> tuple[Any, ...]:
    """(position, event id, complaint) of the first row that is wrong."""
    row = session.execute("select bad_position, bad_event_id, complaint from signalbox.verify_audit()").fetchone()
    assert row is not None
    return row


def test_each_row_has_its_place_and_the_hash_of_the_one_before(three: list[AuditEvent]) -> None:
    first, second, third = three

    assert [row.position - (first.position or 0) for row in three if row.position] == [0, 1, 2]
    assert (bytes(second.previous_hash or b""), bytes(third.previous_hash or b"")) == (first.hash, second.hash)
    found = audit.verify()
    assert (found.intact, found.hash) == (True, bytes(third.hash or b"").hex())
    assert found.events == AuditEvent.objects.count()


@pytest.mark.parametrize(
    "statement",
    [
        "update signalbox.audit_event set reason = 'another' where audit_event_id = %s",
        "update signalbox.audit_event set hash = null, position = null where audit_event_id = %s",
        "delete from signalbox.audit_event where audit_event_id = %s",
        "truncate signalbox.audit_event",
    ],
)
def test_audit_rows_cannot_be_changed(three: list[AuditEvent], connect: Connect, statement: str) -> None:
    parameters = [three[1].pk] if "%s" in statement else []

    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="only ever added to"):
        connect().execute(statement.encode(), parameters)


def test_a_row_that_brings_a_place_of_its_own_gets_the_next(three: list[AuditEvent], connect: Connect) -> None:
    connect().execute(
        "insert into signalbox.audit_event (actor, action, position, hash) values ('eve', 'test.forged', 1, 'x')"
    )

    forged = AuditEvent.objects.get(action="test.forged", actor="eve", audit_event_id__gt=three[-1].pk)
    assert forged.position == (three[-1].position or 0) + 1
    assert audit.verify().intact


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("actor", "'eve'"),
        ("action", "'test.other'"),
        ("reason", "''"),
        ("queue_name", "'elsewhere'"),
        ("queue_id", "1"),
        ("at", "at + interval '1 microsecond'"),
        ("details", "details || '{\"n\": 7}'"),
        ("hash", "sha256('')"),
    ],
)
def test_a_changed_field_is_found(
    three: list[AuditEvent], intruder: psycopg.Connection[Any], column: str, value: str
) -> None:
    intruder.execute(
        f"update signalbox.audit_event set {column} = {value} where audit_event_id = %s".encode(), [three[1].pk]
    )

    assert verdict(intruder) == (three[1].position, three[1].pk, "it is not what was written")


def test_a_changed_row_with_a_hash_that_fits_is_found_at_the_next(
    three: list[AuditEvent], intruder: psycopg.Connection[Any]
) -> None:
    intruder.execute("update signalbox.audit_event set reason = 'no' where audit_event_id = %s", [three[1].pk])
    intruder.execute(
        "update signalbox.audit_event e set hash = signalbox._audit_hash(e, e.position, e.previous_hash)"
        " where audit_event_id = %s",
        [three[1].pk],
    )

    assert verdict(intruder) == (three[2].position, three[2].pk, "it does not follow the row before it")


def test_a_removed_row_is_found(three: list[AuditEvent], intruder: psycopg.Connection[Any]) -> None:
    intruder.execute("delete from signalbox.audit_event where audit_event_id = %s", [three[1].pk])

    assert verdict(intruder) == (three[2].position, three[2].pk, "the row before it is missing")


def test_rows_cut_off_at_the_end_are_missed(three: list[AuditEvent], intruder: psycopg.Connection[Any]) -> None:
    intruder.execute("delete from signalbox.audit_event where audit_event_id >= %s", [three[2].pk])

    assert verdict(intruder) == (three[2].position, None, "it was the last, and is missing")


def test_an_inserted_row_is_found(three: list[AuditEvent], intruder: psycopg.Connection[Any]) -> None:
    row = intruder.execute(
        "insert into signalbox.audit_event (actor, action) values ('eve', 'test.forged') returning audit_event_id"
    ).fetchone()
    assert row is not None

    assert verdict(intruder) == (None, row[0], "it was added past the chain")


def test_rows_that_changed_places_are_found(three: list[AuditEvent], intruder: psycopg.Connection[Any]) -> None:
    swap = "update signalbox.audit_event set position = %s where audit_event_id = %s"
    intruder.execute(swap, [0, three[1].pk])
    intruder.execute(swap, [three[1].position, three[2].pk])
    intruder.execute(swap, [three[2].position, three[1].pk])

    assert verdict(intruder) == (three[1].position, three[2].pk, "it is not what was written")


def test_a_rewritten_chain_is_consistent_but_differs_from_the_noted_hash(
    three: list[AuditEvent], intruder: psycopg.Connection[Any]
) -> None:
    noted = bytes(three[2].hash or b"").hex()
    assert audit.verify((three[2].position or 0, noted)).intact
    other = audit.verify((three[2].position or 0, "0" * 64))
    assert (other.intact, other.event_id) == (False, three[2].pk)
    gone = audit.verify(((three[2].position or 0) + 1000, noted))
    assert (gone.complaint, gone.event_id) == ("it is missing", None)


def test_a_queue_that_goes_leaves_its_rows_as_they_were(engine: Engine, connect: Connect) -> None:
    queues.pause_queue(engine.queue, actor="ana")
    session = connect()
    session.execute("begin")
    session.execute("delete from signalbox.queue where queue_id = %s", [engine.queue_id])

    assert verdict(session) == (None, None, None)
    session.execute("rollback")


BELIEVES = """
create or replace function signalbox._audit_hash(p_event signalbox.audit_event, p_position bigint, p_before bytea)
returns bytea language sql immutable as 'select p_event.hash'
"""
SWALLOWS = """
create function signalbox._mine() returns trigger language plpgsql as 'begin return null; end';
create trigger a before insert on signalbox.audit_event for each row execute function signalbox._mine();
"""
OVERLOADS = """
create function signalbox._audit_hash(signalbox.audit_event, bigint, text) returns bytea
language sql as 'select null::bytea'
"""
INTACT = """
create or replace function signalbox.verify_audit()
returns table (events bigint, hash text, bad_position bigint, bad_event_id bigint, complaint text)
language sql stable as 'select 0::bigint, null::text, null::bigint, null::bigint, null::text'
"""


@pytest.fixture
def forged() -> Iterator[CursorWrapper]:
    """Django's own connection, in a transaction of which nothing stays."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("set constraints all deferred")
        yield cursor
        transaction.set_rollback(True)


def test_functions_of_the_database_are_not_believed(three: list[AuditEvent], forged: CursorWrapper) -> None:
    forged.execute(BELIEVES)
    forged.execute(INTACT)
    forged.execute("alter table signalbox.audit_event disable trigger user")
    forged.execute("update signalbox.audit_event set reason = 'nothing' where audit_event_id = %s", [three[1].pk])

    found = audit.verify()

    assert (found.position, found.complaint) == (three[1].position, "it is not what was written")
    assert "the function _audit_hash is not this release's" in found.guards
    assert "the function verify_audit is not this release's" in found.guards
    assert "the trigger audit_keep of audit_event is missing, switched off or another" in found.guards


@pytest.mark.parametrize(
    ("done", "guard"),
    [
        (BELIEVES, "the function _audit_hash is not this release's"),
        ("drop trigger audit_enter on signalbox.audit_event", "the trigger audit_enter of audit_event"),
        ("alter table signalbox.audit_anchor disable trigger anchor_keep", "the trigger anchor_keep of audit_anchor"),
        ("alter function signalbox._record_audit security invoker", "the function _record_audit"),
        ("alter function signalbox._seal_audit reset search_path", "the function _seal_audit"),
        (
            "create rule mine as on insert to signalbox.audit_event do instead nothing",
            "audit_event is not a plain table",
        ),
        (SWALLOWS, "the trigger a of audit_event is not this release's"),
        (OVERLOADS, "the function _audit_hash"),
    ],
)
def test_what_guards_the_audit_is_compared_with_the_release(forged: CursorWrapper, done: str, guard: str) -> None:
    assert audit.verify().guards == []

    forged.execute(done)

    found = audit.verify()
    assert not found.intact
    assert [one for one in found.guards if guard in one]


def test_migrate_restores_replaced_functions(forged: CursorWrapper) -> None:
    forged.execute(BELIEVES)
    forged.execute("alter table signalbox.audit_event disable trigger user")
    forged.execute("drop trigger anchor_keep on signalbox.audit_anchor")

    assert {"_seal_audit", "_keep_anchors"} <= set(sql_scripts.install(connection))

    assert audit.verify().guards == []
    assert sql_scripts.install(connection) == []


@pytest.mark.parametrize("text", ['"', "\\", "\b\f\n\r\t\x01\x7f", "é\u2028\U0001f600", "</x>", ""])
def test_the_hash_is_the_same_sum_here_and_there(text: str) -> None:
    details = {"b": [1, 1.5, 1e30, -0.0, None, True, {}], "aa": {text: text}, "": 10**30}
    event = audit.record(text or "ana", "test.text", None, text, details)

    assert audit.verify().complaint == ""
    with connection.cursor() as cursor:
        cursor.execute("select to_jsonb(e)::text from signalbox.audit_event e where audit_event_id = %s", [event.pk])
        line = cursor.fetchone()[0]
    [(_, row)] = [(0, json.loads(line, parse_int=exports.Number, parse_float=exports.Number))]
    [(_, _, kept, computed)] = exports._hashed([(int(row["position"]), row)])
    assert kept == computed
