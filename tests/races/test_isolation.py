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
    "fold": "select signalbox.fold()",
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


@pytest.mark.parametrize("path", ["''", "pg_catalog", "decoys, pg_catalog", "decoys, public"])
def test_the_search_path_of_the_caller_does_not_matter(engine: Engine, connect: Connect, path: str) -> None:
    """Hazard 24: the caller's schemas may hold tables of our tables' names."""
    session = engine.on(connect())
    with session.connection.transaction(force_rollback=True):
        session.connection.execute("create schema decoys")
        for table in ("queue", "ready", "lease", "message", "settled", "counter_delta", "dead_letter", "head", "fold"):
            session.connection.execute(f"create table decoys.{table} (decoy int)".encode())
        session.connection.execute(f"set local search_path = {path}".encode())

        session.send("x", priority=2, deduplication_id="key", attributes={"a": 1})
        handle = session.receive_one(consumer="c")[1]
        assert session.nack(handle, delay_seconds=0) == "retry"
        assert session.ack(session.receive_one()[1]) == [True]
        letter = session.die("y")
        assert session.value("select count(*) from signalbox.redrive(array[%s::bigint])", letter) == 1
        session.value("select signalbox.fold()")
        session.value("select count(*) from signalbox.queue_numbers()")
        session.value("select signalbox.upkeep('return_and_promote')")
        assert session.counted() == session.recounted() == (1, 0, 0, 0, 0)
