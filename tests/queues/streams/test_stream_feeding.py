"""Subscriptions are fed side by side: they share a queue's room, and one that cannot go on keeps no other back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from queues.upkeep.stream_upkeep import StreamChores
from tests.engine import Engine
from tests.streams import Log, make_log

Connect = Callable[..., psycopg.Connection[Any]]
Feed = Callable[[], None]

ROUNDS = 5  # in which the first subscription alone would have more than half of what comes out


@pytest.fixture(params=["upkeep", "cron"])
def feed(request: pytest.FixtureRequest, connect: Connect) -> Feed:
    """One round, as the process of upkeep makes it, or as feed_queues() does by itself."""
    connection = connect()
    connection.execute("set statement_timeout = '30s'")  # a round that waits for a lock fails, and does not hang
    if request.param == "cron":
        return lambda: connection.execute("select signalbox.feed_queues()") and None
    chores = StreamChores(connection)

    def _feed() -> None:
        chores.ensure()
        chores.feed()

    return _feed


def append(log: Log, count: int) -> None:
    log.value(
        "select count(*) from signalbox.append_batch(%s, %s)", log.name, [Jsonb([log.name, n]) for n in range(count)]
    )


def worked_off(engine: Engine, count: int) -> list[str]:
    """Receive and acknowledge; the streams that the messages came from."""
    rows = engine.receive(count)
    assert all(engine.ack(*[row[1] for row in rows]))
    return [row[3][0] for row in rows]


@pytest.mark.parametrize("windows", [(1000, 1000), (100, 100)])
def test_two_subscriptions_of_one_queue_share_its_room(
    connect: Connect, engine: Engine, feed: Feed, windows: tuple[int, int]
) -> None:
    logs = [make_log(connect(), partitions=1) for _ in windows]
    for log, window in zip(logs, windows, strict=True):
        log.group("work", "beginning", queue=engine.queue, queue_window=window)
        append(log, 2000)

    got: list[str] = []
    for _ in range(ROUNDS):
        feed()
        got += worked_off(engine, windows[0] // 2)

    shares = [got.count(log.name) for log in logs]
    assert sum(shares) == ROUNDS * windows[0] // 2
    assert min(shares) >= sum(shares) * 0.4


def test_a_paused_subscription_sends_nothing_and_then_with_its_delay_into_its_window(
    connect: Connect, engine: Engine, feed: Feed
) -> None:
    log = make_log(connect(), partitions=2)
    log.group("work", "beginning", queue=engine.queue)
    append(log, 5)
    configure = "select (signalbox.configure_group(%s, 'work', %s)).changed"
    assert log.value(configure, log.name, Jsonb({"paused": True}))
    feed()
    assert (engine.counted()[0], log.numbers("work")[1]) == (0, 5)

    assert log.value(configure, log.name, Jsonb({"paused": False, "queue_window": 3, "delay_seconds": 60}))
    assert not log.value(configure, log.name, Jsonb({"delay_seconds": 60.0}))
    feed()
    feed()
    due = "select count(*), min(due_at) > now() + interval '30 seconds' from signalbox.scheduled where queue_id = %s"
    assert log.rows(due, engine.queue_id) == [(3, True)]


def test_a_subscription_with_nothing_to_send_leaves_its_share_to_the_other(
    connect: Connect, engine: Engine, feed: Feed
) -> None:
    idle, busy = (make_log(connect(), partitions=1) for _ in range(2))
    for log in (idle, busy):
        log.group("work", "beginning", queue=engine.queue, queue_window=100)
    append(busy, 300)

    feed()

    assert engine.counted()[0] == 100


def test_an_open_sender_of_a_fifo_group_holds_up_neither_other_groups_nor_other_subscriptions(
    connect: Connect, make_engine: Callable[..., Engine], feed: Feed
) -> None:
    fifo, plain = make_engine(mode="fifo"), make_engine()
    log = make_log(connect(), partitions=8)
    log.group("ordered", "beginning", queue=fifo.queue)
    log.group("plain", "beginning", queue=plain.queue)
    held, free = keys_of_two_partitions(log)
    for key in (free, held, free, held):
        log.append(key, key=key)
    sender = fifo.on(connect(autocommit=False))
    sender.send("under way", group_id=held)

    feed()

    assert plain.counted()[0] == 4
    assert fifo.waiting() == 2, "the messages of the group whose turn is free"
    sender.connection.commit()
    feed()
    assert fifo.waiting() == 5
    assert log.numbers("ordered")[1] == 0


def test_a_partition_that_begins_with_a_held_group_leaves_its_room_to_the_others(
    connect: Connect, make_engine: Callable[..., Engine], feed: Feed
) -> None:
    fifo = make_engine(mode="fifo")
    log = make_log(connect(), partitions=8)
    log.group("ordered", "beginning", queue=fifo.queue, queue_window=3)
    held, free = sorted(
        keys_of_two_partitions(log), key=lambda key: log.value("select signalbox._partition_of(%s, 8)", key)
    )
    for key in (held, held, held, held, free, free):
        log.append(key, key=key)
    sender = fifo.on(connect(autocommit=False))
    sender.send("under way", group_id=held)

    feed()

    assert fifo.waiting() == 2, "the partition that is read first has more than the queue has room for"
    sender.connection.rollback()
    feed()
    assert fifo.waiting() == 3


def test_a_held_group_is_not_overtaken_within_its_partition(
    connect: Connect, make_engine: Callable[..., Engine], feed: Feed
) -> None:
    fifo = make_engine(mode="fifo")
    log = make_log(connect(), partitions=1)
    log.group("ordered", "beginning", queue=fifo.queue)
    for key in ("a", "b", "a"):
        log.append(key, key=key)
    sender = fifo.on(connect(autocommit=False))
    sender.send("under way", group_id="b")

    feed()
    assert fifo.waiting() == 1
    sender.connection.rollback()
    feed()

    assert fifo.waiting() == 3
    assert log.numbers("ordered")[1] == 0


def test_a_locked_subscription_is_left_for_the_next_round(
    connect: Connect, engine: Engine, make_engine: Callable[..., Engine], feed: Feed
) -> None:
    other = make_engine()
    log = make_log(connect(), partitions=1)
    log.group("first", "beginning", queue=engine.queue)
    log.group("second", "beginning", queue=other.queue)
    log.append("a")
    feed()  # from now on the partition is its own
    log.append("b")
    seeking = log.on(connect(autocommit=False))
    seeking.seek("beginning", "first")

    feed()
    assert (engine.counted()[0], other.counted()[0]) == (1, 2)
    seeking.connection.commit()
    feed()

    assert [row[3] for row in engine.receive(10)] == ["a", "a", "b"]


def test_an_error_of_one_subscription_is_said_and_keeps_no_other_back(
    connect: Connect, engine: Engine, make_engine: Callable[..., Engine], caplog: pytest.LogCaptureFixture
) -> None:
    other = make_engine()
    log = make_log(connect(), partitions=1)
    log.group("broken", "beginning", queue=engine.queue)
    log.group("sound", "beginning", queue=other.queue)
    log.append("a")
    connection = connect()
    connection.execute(
        "create function pg_temp.refuse() returns trigger language plpgsql as $$ begin raise 'out of order'; end $$;"
        " create trigger refuse before insert on signalbox.message for each row"
        f" when (new.queue_id = {engine.queue_id}) execute function pg_temp.refuse()"
    )
    chores = StreamChores(connection)
    chores.ensure()
    try:
        chores.feed()
        chores.feed()
    finally:
        connection.execute("drop trigger refuse on signalbox.message")

    assert other.counted()[0] == 1
    assert caplog.text.count("out of order") == 1


def keys_of_two_partitions(log: Log) -> tuple[str, str]:
    """Two keys that go to partitions of their own."""
    first = log.value("select signalbox._partition_of('a', 8)")
    for letter in "bcdefghijklmnop":
        if log.value("select signalbox._partition_of(%s, 8)", letter) != first:
            return "a", letter
    raise AssertionError("all keys go to one partition")
