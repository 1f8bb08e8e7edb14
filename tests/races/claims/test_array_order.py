"""Verbs that take arrays lock in one order and answer in the order given (hazard 13)."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.naive import NaiveVerbs
from tests.races.sessions import finish, start, until_waiting

Connect = Callable[..., psycopg.Connection[Any]]

EXTEND = "select count(deadline) from signalbox.change_visibility_batch(%s, 60)"
GIVE_BACK = "select count(deadline) from signalbox.change_visibility_batch(%s, 0)"
ACK_CLAIMS = "select count(*) filter (where acked) from signalbox._ack_claims(%s)"
ACK = "select count(*) filter (where acked) from signalbox.ack(%s)"


def handles_of(engine: Engine, count: int) -> list[str]:
    engine.value(
        "select count(*) from signalbox.send_batch(%s, array_fill('1'::jsonb, array[%s]))", engine.queue, count
    )
    return [row[1] for row in engine.receive(count)]


def overlap(
    engine: Engine, sessions: list[Engine], observer: psycopg.Connection[Any], verb: str
) -> list[int | type[Exception]]:
    """Two calls with the same handles in opposite orders, held up in the middle of the first.

    A third session holds the middle lease until one call waits for it and the other call waits as well.
    """
    handles = handles_of(engine, 3)
    holder, first, second = sessions
    holder.connection.execute("begin")
    holder.value("select signalbox.change_visibility(%s, 60)", handles[1])
    calls = []
    for session, order in ((first, handles), (second, handles[::-1])):
        calls.append(start(session.value, verb, order))
        until_waiting(observer, session.connection)
    holder.connection.execute("commit")
    outcomes: list[int | type[Exception]] = []
    for call in calls:
        try:
            outcomes.append(finish(call))
        except psycopg.errors.DeadlockDetected as error:
            outcomes.append(type(error))
    return outcomes


@pytest.mark.parametrize(
    ("verb", "expected"),
    [(ACK, [3, 0]), (ACK_CLAIMS, [3, 0]), (EXTEND, [3, 3]), (GIVE_BACK, [3, 0])],
    ids=["ack", "ack of several claims", "extend", "give back"],
)
def test_overlapping_calls_in_opposite_orders_do_not_deadlock(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any], verb: str, expected: list[int]
) -> None:
    sessions = [engine.on(connect()) for _ in range(3)]

    assert sorted(overlap(engine, sessions, observer, verb), key=str) == sorted(expected, key=str)


LOCK_IN_THE_ORDER_GIVEN = """
  perform from unnest(p_handles) h, lateral (
    select from signalbox.lease l where l.message_id = any(array[split_part(h, '.', 2)::bigint]) for update
  ) locked;
  v_distinct := """


@pytest.mark.parametrize(
    ("verb", "call", "change"),
    [
        ("_ack_claims", ACK_CLAIMS, {"\n  v_distinct := ": LOCK_IN_THE_ORDER_GIVEN}),
        ("change_visibility_batch", EXTEND, {" order by 3\n": "\n"}),
        ("change_visibility_batch", GIVE_BACK, {" order by 3\n": "\n"}),
    ],
)
def test_calls_that_lock_in_the_order_given_would_deadlock(
    engine: Engine,
    connect: Connect,
    observer: psycopg.Connection[Any],
    naive: NaiveVerbs,
    verb: str,
    call: str,
    change: dict[str, str],
) -> None:
    naive.install(verb, change)
    sessions = [naive.engine(engine, connect()) for _ in range(3)]
    for session in sessions:
        session.connection.execute("set deadlock_timeout = '20ms'")

    outcomes = overlap(engine, sessions, observer, call)

    assert psycopg.errors.DeadlockDetected in outcomes


def test_many_threads_acking_the_same_handles_in_any_order_settle_each_once(engine: Engine, connect: Connect) -> None:
    handles = handles_of(engine, 60)
    workers = [engine.on(connect()) for _ in range(6)]

    def ack_some(worker: Engine, seed: int) -> int:
        chance = random.Random(seed)
        return sum(sum(worker.ack(*chance.sample(handles, 20))) for _ in range(15)) + sum(
            worker.ack(*chance.sample(handles, 60))
        )

    calls = [start(ack_some, worker, seed) for seed, worker in enumerate(workers)]

    assert sum(finish(call) for call in calls) == 60
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


def test_answers_come_in_the_order_given(engine: Engine) -> None:
    handles = handles_of(engine, 5)
    engine.ack(handles[3])
    shuffled = [handles[index] for index in (4, 0, 3, 2, 1)]

    rows = engine.rows(
        "select receipt_handle, deadline is null from signalbox.change_visibility_batch(%s, 9)", shuffled
    )
    assert rows == [(handle, handle == handles[3]) for handle in shuffled]
    assert engine.rows("select * from signalbox.ack(%s)", shuffled) == [
        (handle, handle != handles[3]) for handle in shuffled
    ]


OPTION_TYPES = {
    "attributes": "jsonb",
    "priorities": "int",
    "delay_seconds": "float8",
    "group_ids": "text",
    "deduplication_ids": "text",
    "trace_ids": "text",
}


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("option", OPTION_TYPES)
def test_an_option_array_of_another_length_is_refused(engine: Engine, option: str, length: int) -> None:
    """unnest would pad the shorter array with nulls in silence."""
    nulls = f"array_fill(null::{OPTION_TYPES[option]}, array[{length}])"
    with pytest.raises(psycopg.Error) as caught:
        engine.rows(f"select signalbox.send_batch(%s, array['1', '2']::jsonb[], {option} => {nulls})", engine.queue)

    assert caught.value.sqlstate == "SB400"
    assert caught.value.diag.column_name == option
