"""Priorities with aging are a merge of queues that are each in order of time (hazard 17)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.engine import Engine
from tests.races.floors import Floors
from tests.tiers import examples

Connect = Callable[..., psycopg.Connection[Any]]

Ticket = tuple[int, int]
"""A priority and how many seconds ago the message became claimable."""

tickets = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 600)), min_size=1, max_size=14)
batches = st.sampled_from([1, 2, 5, 100])


def rank(ticket: Ticket, aging_seconds: float) -> tuple[float, float]:
    """Rank of a claim, lowest first: without aging the priority, else the age plus an advance for the priority."""
    priority, age = ticket
    if aging_seconds == 0:
        return (-priority, -age)
    return (-age - priority * aging_seconds, 0.0)


def put(engine: Engine, waiting: list[Ticket]) -> None:
    """Send messages that became claimable at those times."""
    for priority, age in waiting:
        message_id = engine.send([priority, age], priority=priority)
        engine.rows(
            "update signalbox.ready set ready_at = timestamptz '2020-01-01 00:00Z' - %s"
            " where message_id = %s returning 1",
            timedelta(seconds=age),
            message_id,
        )


def take(engine: Engine, max_messages: int) -> list[list[Ticket]]:
    """Receive until there is nothing, a batch at a time."""
    taken = []
    while rows := engine.receive(max_messages):
        taken.append([(row[3][0], row[3][1]) for row in rows])
    return taken


@pytest.mark.property
@pytest.mark.parametrize("aging_seconds", [0, 1, 60])
def test_claims_come_in_the_order_of_the_model(make_engine: Callable[..., Engine], aging_seconds: int) -> None:
    engine = make_engine(aging_seconds=aging_seconds)

    @settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(waiting=tickets, max_messages=batches)
    def check(waiting: list[Ticket], max_messages: int) -> None:
        put(engine, waiting)
        batches_taken = take(engine, max_messages)

        assert [len(batch) for batch in batches_taken[:-1]] == [max_messages] * (len(batches_taken) - 1)
        ranks = [sorted(rank(ticket, aging_seconds) for ticket in batch) for batch in batches_taken]
        assert [each for batch in ranks for each in batch] == sorted(rank(ticket, aging_seconds) for ticket in waiting)

    check()


def test_without_aging_the_lowest_priority_waits_for_all_others(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(aging_seconds=0)
    put(engine, [(0, 600), (9, 1), (5, 300), (9, 2)])

    assert take(engine, 1) == [[(9, 2)], [(9, 1)], [(5, 300)], [(0, 600)]]


def test_aging_prevents_starvation(make_engine: Callable[..., Engine]) -> None:
    """A message of the lowest priority waits for at most nine steps of aging, whatever comes at higher ones."""
    engine = make_engine(aging_seconds=10)
    put(engine, [(0, 200), (9, 111), (9, 109), (9, 1)])

    assert take(engine, 1) == [[(9, 111)], [(0, 200)], [(9, 109)], [(9, 1)]]


def send_at(engine: Engine, priority: int, second: int) -> None:
    """A message that became claimable in that second of a time of the test's own."""
    message_id = engine.send([priority, second], priority=priority)
    engine.rows(
        "update signalbox.ready set ready_at = timestamptz '2020-01-01 00:00Z' + %s where message_id = %s returning 1",
        timedelta(seconds=second),
        message_id,
    )


def aged(engine: Engine) -> int:
    """Number of deliveries ahead of a waiting higher priority."""
    return int(
        engine.value(
            "select signalbox.event_total(totals, 'aged') from signalbox.queue_totals(array[%s::integer])",
            engine.queue_id,
        )
    )


@pytest.mark.parametrize("batch", [1, 3])
def test_a_steady_stream_of_high_priority_does_not_starve_the_lowest(
    make_engine: Callable[..., Engine], batch: int
) -> None:
    """Every second as many of the highest arrive as are taken; ten seconds are worth a step, and there are nine."""
    engine = make_engine(aging_seconds=10)
    send_at(engine, 0, 0)
    for second in range(95):
        for _ in range(batch):
            send_at(engine, 9, second)
        taken = [row[3] for row in engine.receive(batch)]
        if [0, 0] in taken:
            break
        assert aged(engine) == 0

    assert second == 91
    assert aged(engine) == 1


def test_without_aging_the_stream_starves_it_and_nothing_is_counted(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(aging_seconds=0)
    send_at(engine, 0, 0)
    for second in range(100):
        send_at(engine, 9, second)
        assert take_one(engine) == (9, second)

    assert take_one(engine) == (0, 0)
    assert aged(engine) == 0


def test_what_goes_first_because_nothing_higher_waits_has_not_aged(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(aging_seconds=10)
    put(engine, [(9, 1), (0, 5)])
    assert take(engine, 1) == [[(9, 1)], [(0, 5)]]

    assert aged(engine) == 0


def test_a_changed_aging_orders_what_waits_already(make_engine: Callable[..., Engine]) -> None:
    """No rank is stored, so none has to be rewritten and none can contradict."""
    engine = make_engine(aging_seconds=1)
    put(engine, [(0, 100), (9, 1), (0, 90), (9, 2)])
    assert take_one(engine) == (0, 100)

    engine.value("select signalbox.configure_queue(%s, %s)", engine.queue, Jsonb({"aging_seconds": 60}))

    assert take(engine, 1) == [[(9, 2)], [(9, 1)], [(0, 90)]]


def take_one(engine: Engine) -> Ticket:
    payload = engine.receive_one()[3]
    return (payload[0], payload[1])


def test_a_priority_whose_head_is_being_claimed_does_not_hold_up_the_others(
    make_engine: Callable[..., Engine], connect: Connect
) -> None:
    engine = make_engine(aging_seconds=10)
    put(engine, [(9, 1), (0, 5), (0, 4)])
    claimer = engine.on(connect())
    claimer.connection.execute("begin")
    assert take_one(claimer) == (9, 1)

    assert take(engine, 10) == [[(0, 5), (0, 4)]]


def test_what_comes_behind_a_head_that_is_being_claimed_is_not_skipped(
    make_engine: Callable[..., Engine], connect: Connect
) -> None:
    """Another priority's head ranks between two messages: nothing to take before it, and something after."""
    engine = make_engine(aging_seconds=10)
    put(engine, [(9, 5), (0, 93), (9, 1)])
    claimer = engine.on(connect())
    claimer.connection.execute("begin")
    assert take_one(claimer) == (9, 5)

    assert sorted(ticket for batch in take(engine.on(connect()), 10)[:1] for ticket in batch) == [(0, 93), (9, 1)]


@pytest.mark.parametrize("aging_seconds", [0, 60])
def test_the_floor_of_every_priority_follows_its_own_messages(
    make_engine: Callable[..., Engine], make_floors: Callable[..., Floors], aging_seconds: int
) -> None:
    """Ranks that mix priority into time would make one floor trail the others by the whole range of aging."""
    engine = make_engine(aging_seconds=aging_seconds)
    floors = make_floors(engine)
    for priority in (0, 4, 9):
        engine.send("consumed", priority=priority)
    consumed_at = engine.value("select max(ready_at) from signalbox.ready where queue_id = %s", engine.queue_id)
    engine.ack(*[row[1] for row in engine.receive(10)])
    floors.tick()

    assert all(floors.at(priority) > consumed_at for priority in (0, 4, 9))
    sent = {engine.send(priority, priority=priority) for priority in (0, 4, 9)}
    floors.tick()
    assert {row[0] for row in engine.receive(10)} == sent
