"""Verbs that must see what others have just committed say so when they cannot (hazard 12); any search path will do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine

Connect = Callable[..., psycopg.Connection[Any]]

LEVELS = ["repeatable read", "serializable"]
NEED_THE_LATEST = {
    "receive": "select * from signalbox.receive('{queue}')",
    "deduplicated send": "select signalbox.send('{queue}', '1', deduplication_id => 'key')",
    "deduplicated batch": "select signalbox.send_batch('{queue}', array['1']::jsonb[], deduplication_ids => '{{key}}')",
    "fold": "select signalbox.aggregate_counters()",
    "empty_deltas": "select signalbox.empty_deltas()",
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("verb", NEED_THE_LATEST)
def test_a_verb_that_needs_the_latest_is_refused_with_an_older_snapshot(
    engine: Engine, connect: Connect, verb: str, level: str
) -> None:
    session = connect()
    session.execute(f"begin isolation level {level}".encode())
    with pytest.raises(psycopg.Error) as caught:
        session.execute(NEED_THE_LATEST[verb].format(queue=engine.queue).encode())

    assert caught.value.sqlstate == "SB425"
    assert "READ COMMITTED" in (caught.value.diag.message_primary or "")
    assert level.upper() in (caught.value.diag.message_primary or "")


@pytest.mark.parametrize("level", LEVELS)
def test_a_plain_send_joins_a_transaction_of_any_isolation(engine: Engine, connect: Connect, level: str) -> None:
    sender = engine.on(connect())
    sender.connection.execute(f"begin isolation level {level}".encode())
    sender.send("x", priority=3)
    sender.send("y", delay_seconds=60)
    sender.connection.execute("commit")

    assert engine.counted() == engine.recounted() == (1, 1, 0, 0, 0)


@pytest.mark.parametrize("level", LEVELS)
def test_an_ack_that_lost_against_another_under_an_older_snapshot_is_an_error(
    engine: Engine, connect: Connect, level: str
) -> None:
    """Never a silent false answer: the transaction fails to serialize, and its own writes with it."""
    engine.send("x")
    handle = engine.receive_one()[1]
    late = engine.on(connect())
    late.connection.execute(f"begin isolation level {level}".encode())
    late.value("select 1")
    assert engine.ack(handle) == [True]

    with pytest.raises(psycopg.errors.SerializationFailure):
        late.ack(handle)


SETTLING = {
    "ack": "select * from signalbox.ack(array['{handle}'])",
    "ack of several": "select * from signalbox.ack(array['{handle}', '{other}'])",
    "ack of several claims": "select * from signalbox.ack(array['{handle}', '{elsewhere}'])",
    "ack with a result": "select * from signalbox.ack(array['{handle}'], array['1']::jsonb[])",
    "nack": "select signalbox.nack('{handle}')",
    "nack_batch": "select * from signalbox.nack_batch(array['{handle}'])",
    "defer": "select signalbox.defer('{handle}', 0)",
    "change_visibility": "select signalbox.change_visibility('{handle}', 60)",
    "giving back": "select signalbox.change_visibility('{handle}', 0)",
    "change_visibility_batch": "select * from signalbox.change_visibility_batch(array['{handle}'], 60)",
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("verb", SETTLING)
def test_a_lease_younger_than_the_snapshot_is_not_reported_as_gone(
    make_engine: Callable[..., Engine], connect: Connect, verb: str, level: str
) -> None:
    engine, other = make_engine(), make_engine()
    session = connect()
    session.execute(f"begin isolation level {level}".encode())
    session.execute("select 1")
    for number in range(2):
        engine.send(number)
    other.send("x")
    handles = [row[1] for row in engine.receive(2)]
    names = {"handle": handles[0], "other": handles[1], "elsewhere": other.receive_one()[1]}

    with pytest.raises(psycopg.Error) as caught:
        session.execute(SETTLING[verb].format(**names).encode())
    assert caught.value.sqlstate == "SB425"
    session.execute("rollback")
    assert engine.ack(*handles) == [True, True]


@pytest.mark.parametrize("level", LEVELS)
def test_a_lease_that_the_snapshot_shows_is_settled_at_any_isolation(
    engine: Engine, connect: Connect, level: str
) -> None:
    """The work and its ack in one serializable transaction: what is held is held."""
    for number in range(3):
        engine.send(number)
    first, second, third = (row[1] for row in engine.receive(3))
    session = engine.on(connect())
    session.connection.execute(f"begin isolation level {level}".encode())
    assert session.ack(first, first) == [True, True]
    assert session.nack(second, delay_seconds=0) == "retry"
    assert session.value("select signalbox.change_visibility(%s, 60) is not null", third)
    session.connection.execute("commit")

    assert engine.counted() == engine.recounted() == (1, 0, 1, 0, 0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("settings", [{"mode": "fifo"}, {"group_max_in_flight": 1}], ids=["fifo", "limited groups"])
def test_a_limit_on_what_waits_is_not_passed_with_an_older_snapshot(
    make_engine: Callable[..., Engine], connect: Connect, settings: dict[str, Any], level: str
) -> None:
    engine = make_engine(group_max_waiting=2, **settings)
    sender = engine.on(connect())
    sender.connection.execute(f"begin isolation level {level}".encode())
    sender.value("select 1")
    for number in range(2):
        engine.send(number, group_id="g")

    with pytest.raises(psycopg.Error) as caught:
        sender.send("x", group_id="g")
    assert caught.value.sqlstate == "SB425"


@pytest.mark.parametrize("path", ["''", "pg_catalog", "decoys, pg_catalog", "decoys, public"])
def test_the_search_path_of_the_caller_does_not_matter(engine: Engine, connect: Connect, path: str) -> None:
    """Hazard 24: the caller's schemas may hold tables of our tables' names."""
    session = engine.on(connect())
    with session.connection.transaction(force_rollback=True):
        session.connection.execute("create schema decoys")
        for table in (
            "queue",
            "ready",
            "lease",
            "message",
            "settled",
            "counter_delta",
            "dead_letter",
            "claim_floor",
            "aggregation",
        ):
            session.connection.execute(f"create table decoys.{table} (decoy int)".encode())
        session.connection.execute(f"set local search_path = {path}".encode())

        session.send("x", priority=2, deduplication_id="key", attributes={"a": 1})
        handle = session.receive_one(consumer="c")[1]
        assert session.nack(handle, delay_seconds=0) == "retry"
        assert session.ack(session.receive_one()[1]) == [True]
        letter = session.die("y")
        assert session.value("select count(*) from signalbox.redrive(array[%s::bigint])", letter) == 1
        session.value("select signalbox.aggregate_counters()")
        session.value("select count(*) from signalbox.queue_numbers()")
        session.value("select signalbox.upkeep('return_and_promote')")
        assert session.counted() == session.recounted() == (1, 0, 0, 0, 0)
