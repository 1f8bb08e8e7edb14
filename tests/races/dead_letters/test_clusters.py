"""Failure groups under traffic: no waits, exact numbers at any moment, and each delta aggregated once."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import psycopg

from tests.engine import Engine
from tests.queues.dead_letters.clusters import counted, fold, recounted
from tests.races.sessions import finish, start, until

Connect = Callable[..., psycopg.Connection[Any]]


def test_failures_of_one_group_and_an_aggregation_do_not_wait(engine: Engine, connect: Connect) -> None:
    engine.die(0, error_class="A")
    fold(engine)
    first, second, folder = (engine.on(connect()) for _ in range(3))
    for session in (first, second, folder):
        session.connection.execute("set lock_timeout = '10s'")  # who has to wait fails

    with first.connection.transaction(), second.connection.transaction():
        first.die(1, error_class="A")
        second.die(2, error_class="A")
        fold(folder)
        assert counted(folder) == recounted(folder)
        assert sum(counted(folder).values()) == 1
    assert sum(counted(folder).values()) == 3
    fold(folder)
    assert counted(folder) == recounted(folder)
    assert sum(counted(folder).values()) == 3


def test_a_death_that_was_open_during_folds_is_folded_once(engine: Engine, connect: Connect) -> None:
    engine.die(0, error_class="A")  # makes the dead-letter queue
    slow, folder = engine.on(connect()), engine.on(connect())
    with slow.connection.transaction():
        slow.die(1, error_class="A")
        for number in range(3):
            engine.die(number, error_class="A")
            fold(folder)
    for _ in range(2):
        fold(folder)
        assert sum(counted(folder).values()) == 5


def test_a_fold_inside_a_transaction_leaves_its_own_deaths_to_a_later_one(engine: Engine, connect: Connect) -> None:
    session, other = engine.on(connect()), engine.on(connect())
    with session.connection.transaction():
        session.die(1, error_class="A")
        fold(session)
        session.die(2, error_class="A")
        assert sum(counted(session).values()) == 2
    assert sum(counted(other).values()) == 2
    fold(other)
    assert sum(counted(other).values()) == 2


def test_only_one_folds_at_a_time(engine: Engine, connect: Connect) -> None:
    engine.die(1)
    with engine.connection.transaction():
        fold(engine)
        other = engine.on(connect())
        assert other.value("select signalbox.aggregate_failure_groups()") is None
        assert other.value("select signalbox.forget_failure_groups()") is None
        assert counted(other) == recounted(other)


def test_emptied_deltas_were_folded(engine: Engine, connect: Connect) -> None:
    def emptied() -> bool:
        engine.value("select signalbox.empty_failure_group_deltas()")
        left = "select count(*) from signalbox.cluster_delta where queue_id = %s and slot = %s"
        return bool(engine.value(left, engine.queue_id, away) == 0)

    engine.die(1, error_class="A")
    fold(engine)
    slot = engine.value("select slot from signalbox.cluster_delta where queue_id = %s", engine.queue_id)
    away = (engine.value("select date_part('epoch', clock_timestamp())::bigint / 60 %% 4") + 3) % 4
    engine.connection.execute("update signalbox.cluster_delta set slot = %s where slot = %s", [away, slot])
    engine.connection.execute(
        "update signalbox.failure_group_aggregation set aggregated_at = aggregated_at - interval '61 seconds'"
    )
    late = engine.on(connect())
    with late.connection.transaction():
        late.die(2, error_class="A")
        late.connection.execute(
            "update signalbox.cluster_delta set slot = %s where queue_id = %s", [away, engine.queue_id]
        )
        engine.value("select signalbox.empty_failure_group_deltas()")  # its slot is in use: left alone
    assert sum(counted(engine).values()) == 2

    fold(engine)
    engine.connection.execute(
        "update signalbox.failure_group_aggregation set aggregated_at = aggregated_at - interval '61 seconds'"
    )
    until(emptied, "an empty slot, which a vacuum may be at")
    assert sum(counted(engine).values()) == 2


def test_numbers_are_exact_in_every_snapshot_of_a_storm(engine: Engine, connect: Connect) -> None:
    _die(engine, random.Random(0))  # the queue that is received from is there once a first death is committed
    over = threading.Event()
    storm = [start(_live, engine.on(connect()), random.Random(seed), 60) for seed in range(3)]
    folding = start(_fold_until, engine.on(connect()), over)
    reader = engine.on(connect())
    reader.connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    seen = 0
    while not all(one.done() for one in storm):
        with reader.connection.transaction():
            assert counted(reader) == recounted(reader)
        seen += 1
    for one in storm:
        finish(one)
    over.set()
    finish(folding)

    assert seen
    fold(engine)
    assert counted(engine) == recounted(engine)


def test_counts_are_put_right_when_a_dump_is_restored_elsewhere(engine: Engine) -> None:
    """The dump's snapshot lies in this server's future, and its deltas mean nothing."""
    engine.die(1, error_class="A")
    fold(engine)
    with engine.connection.transaction(force_rollback=True):
        engine.die(2, error_class="A")
        engine.connection.execute(
            "update signalbox.failure_group_aggregation set snapshot = '900000000000000:900000000000000:'"
            " where aggregation_id = (select max(aggregation_id) from signalbox.failure_group_aggregation)"
        )
        engine.connection.execute(
            "update signalbox.failure_cluster_queue set dead = 7 where queue_id = %s", [engine.queue_id]
        )
        assert engine.value("select signalbox.aggregate_failure_groups()") == 0
        assert counted(engine) == recounted(engine)
        engine.die(3, error_class="A")
        assert counted(engine) == recounted(engine)


def _live(engine: Engine, draw: random.Random, steps: int) -> None:
    letters: list[int] = []
    for _ in range(steps):
        match draw.choice(["die", "die", "die", "redrive", "delete", "receive", "in vain"]):
            case "die":
                letters.append(_die(engine, draw))
            case "redrive":
                engine.value("select count(*) from signalbox.redrive(%s)", letters[-2:])
            case "delete":
                engine.value("select signalbox.delete_dead_letters(%s)", letters[-1:])
            case "receive":
                engine.on(engine.connection).rows(
                    "select message_id from signalbox.receive(%s, 1, 30)", f"{engine.queue}-dlq"
                )
            case "in vain":
                with engine.connection.transaction(force_rollback=True):
                    _die(engine, draw)


def _die(engine: Engine, draw: random.Random) -> int:
    """One death; whose message it is does not matter."""
    engine.send(1)
    with engine.connection.transaction():
        for row in engine.receive(1):
            engine.nack(row[1], reason="rejected", error_class=draw.choice("AB"))
    newest = engine.value(
        "select max(dead_letter_id) from signalbox.dead_letter where source_queue_id = %s", engine.queue_id
    )
    return int(newest or 0)


def _fold_until(engine: Engine, over: threading.Event) -> None:
    while not over.wait(0.01):
        engine.value("select signalbox.aggregate_failure_groups()")
        engine.value("select signalbox.empty_failure_group_deltas()")
