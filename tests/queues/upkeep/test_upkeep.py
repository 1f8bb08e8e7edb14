"""Upkeep: what happens without anybody asking, and that several of them get along."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

import queues.upkeep.upkeep
from queues.database.connections import connect as connect_to_django
from queues.upkeep.upkeep import Chores, Pulse, Step, Upkeep
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")

Connect = Callable[..., psycopg.Connection[Any]]


def eventually(check: Callable[[], bool], seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def upkeep() -> Iterator[Upkeep]:
    """Running upkeep in a thread."""
    running = Upkeep()
    thread = threading.Thread(target=running.run)
    thread.start()
    yield running
    running.stop()
    thread.join(90)
    assert not thread.is_alive()


@pytest.fixture
def pulse() -> Iterator[Pulse]:
    """The steps that others wait for, to be called one by one."""
    with connect_to_django("upkeep under test") as connection:
        made = Pulse(connection)
        yield made
        made.close()


@pytest.fixture
def chores() -> Iterator[Chores]:
    """The steps that can take their time."""
    with connect_to_django("upkeep under test") as connection:
        yield Chores(connection)


def test_a_listener_is_woken_after_the_commit(engine: Engine, connect: Connect, upkeep: Upkeep) -> None:
    listener, sender = connect(), connect(autocommit=False)
    listener.execute("listen signalbox_ready")

    def woken() -> bool:
        """Messages from before upkeep's start are found by polling, so the test repeats until upkeep sees one."""
        engine.on(sender).send("x")
        sender.commit()
        return any(engine.queue in notice.payload.split(",") for notice in listener.notifies(timeout=1))

    eventually(woken)


def test_an_uncommitted_send_wakes_no_receiver(engine: Engine, connect: Connect, pulse: Pulse) -> None:
    listener, sender = connect(), connect(autocommit=False)
    listener.execute("listen signalbox_ready")
    engine.on(sender).send("x")

    pulse.announce()
    assert [n for n in listener.notifies(timeout=0.2) if engine.queue in n.payload.split(",")] == []
    sender.commit()
    pulse.announce()
    assert any(engine.queue in notice.payload.split(",") for notice in listener.notifies(timeout=90))


def test_queues_without_consumers_are_kept_in_order(make_engine: Callable[..., Engine], upkeep: Upkeep) -> None:
    engine = make_engine(max_receives=1)
    engine.send("due soon", delay_seconds=0.05)
    engine.send("leased")
    engine.receive(1, visibility_timeout=0.05)

    eventually(lambda: engine.recounted() == (1, 0, 0, 1, 0))
    assert engine.counted() == (1, 0, 0, 1, 0)


def test_floors_rise_over_what_was_consumed(engine: Engine, upkeep: Upkeep) -> None:
    def floor() -> int:
        return int(
            engine.value(
                "select coalesce(max(pg_sequence_last_value(floor)), 0) from signalbox.claim_floor"
                " where queue_id = %s and kind = 0",
                engine.queue_id,
            )
        )

    def risen() -> bool:
        """Events from before upkeep's start are no activity to it, so the test repeats until upkeep sees one."""
        engine.send("before")
        engine.ack(*(row[1] for row in engine.receive(100)))
        return floor() > sent_until

    for number in range(20):
        engine.send(number)
    sent_until = engine.value("select (extract(epoch from clock_timestamp()) * 1000000)::bigint")

    eventually(risen)
    engine.send("after")
    assert engine.receive_one()[3] == "after"


def test_a_second_upkeep_follows_and_takes_over(engine: Engine, connect: Connect) -> None:
    from queues.upkeep.claim_floors import FloorKeeper

    first, second = (FloorKeeper(connect(), ttl_seconds=600) for _ in range(2))
    eventually(lambda: first.tick(time.monotonic(), [engine.queue_id]))

    assert second.tick(time.monotonic(), [engine.queue_id]) is False
    first.resign()
    assert second.tick(time.monotonic(), [engine.queue_id]) is True
    assert first.tick(time.monotonic(), [engine.queue_id]) is False
    second.resign()


def test_what_waited_beyond_its_retention_expires(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(retention_seconds=60)
    old, new = engine.send("old"), engine.send("new")
    engine.rows(
        "update signalbox.ready set ready_at = ready_at - interval '61 seconds' where message_id = %s returning 1", old
    )

    assert engine.value("select signalbox.expire_messages()") == 1
    assert engine.value("select signalbox.expire_messages()") == 0
    assert engine.counted() == engine.recounted() == (1, 0, 0, 0, 0)
    assert engine.receive_one()[0] == new
    assert engine.rows(
        "select outcome from signalbox.settled where queue_id = %s and message_ids = %s::bigint[]",
        engine.queue_id,
        [old],
    ) == [("e",)]


def test_dead_letters_are_kept_for_their_own_retention(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine()
    old = engine.die("old")
    engine.die("new")
    assert (
        engine.value("select retention_seconds from signalbox.queue where name = %s", f"{engine.queue}-dlq") == 1209600
    )
    engine.rows(
        "update signalbox.dead_letter set died_at = died_at - interval '15 days' where dead_letter_id = %s returning 1",
        old,
    )

    assert engine.value("select signalbox.expire_messages()") == 1
    assert engine.counted() == engine.recounted() == (0, 0, 0, 1, 0)


def dropped_now(engine: Engine) -> set[str]:
    """Partitions of history that are neither needed nor in use."""
    return {name for names in iter(lambda: engine.value("select signalbox.drop_history()"), []) for name in names}


def test_whole_days_of_history_are_dropped(engine: Engine) -> None:
    engine.value("select signalbox._ensure_period('settled', '2020-02-01Z', '2020-02-02Z', 'YYYYMMDD')")
    engine.value("select signalbox._ensure_period('dedup', '2020-02-01 10:00Z', '2020-02-01 11:00Z', 'YYYYMMDDHH24')")

    dropped: set[str] = set()

    def both() -> bool:
        dropped.update(dropped_now(engine))
        return {"settled_20200201", "dedup_2020020110"} <= dropped

    eventually(both)
    assert engine.value("select to_regclass('signalbox.settled_20200201')") is None


def test_a_partition_in_use_is_left_for_later(engine: Engine, connect: Connect) -> None:
    engine.value("select signalbox._ensure_period('failure', '2020-02-01Z', '2020-02-02Z', 'YYYYMMDD')")
    reader = connect(autocommit=False)
    reader.execute("select count(*) from signalbox.failure_20200201")

    assert "failure_20200201" not in dropped_now(engine)
    reader.rollback()
    eventually(lambda: "failure_20200201" in dropped_now(engine))


def test_every_step_runs(pulse: Pulse, chores: Chores) -> None:
    for step in (*pulse.steps, *chores.steps):
        step.run()


def test_a_step_that_fails_does_not_stop_the_others(chores: Chores, caplog: pytest.LogCaptureFixture) -> None:
    done = []
    chores.steps[0].run = lambda: chores.connection.execute("select 1/0")
    chores.steps[1].run = lambda: done.append("second")

    chores.run_due(time.monotonic())

    assert done == ["second"]
    assert f"{chores.steps[0].name} failed" in caplog.text


def test_a_step_that_keeps_failing_is_tried_less_and_less_often(chores: Chores) -> None:
    (step,) = chores.steps = [Step("broken", 0.1, lambda: chores.connection.execute("select 1/0"))]
    pauses = []
    for _ in range(8):
        chores.run_due(step.due_at)
        pauses.append(step.due_at)
    pauses = [later - earlier for earlier, later in itertools.pairwise([0.0, *pauses])]

    assert pauses == pytest.approx([1, 2, 4, 8, 16, 32, 32, 32])
    step.run = lambda: None
    chores.run_due(step.due_at)
    assert step.due_at == pytest.approx(sum(pauses) + 0.1)


def test_counters_survive_a_restore_into_a_younger_cluster(make_engine: Callable[..., Engine]) -> None:
    """Aggregations in a dump name transaction ids that the new cluster has not reached."""
    engine = make_engine()
    for number in range(3):
        engine.send(number)
    engine.ack(engine.receive_one()[1])
    engine.value("select signalbox.aggregate_counters()")
    engine.send("not aggregated when the dump was made")
    engine.rows(
        (
            "insert into signalbox.aggregation (aggregated_at, snapshot)"
            " values (clock_timestamp(), %s::pg_snapshot) returning 1"
        ),
        "9000000000:9000000000:",
    )

    engine.value("select signalbox.aggregate_counters()")
    engine.value("select signalbox.aggregate_counters()")

    assert engine.counted() == engine.recounted() == (3, 0, 0, 0, 0)
    engine.send("after")
    assert engine.counted() == engine.recounted() == (4, 0, 0, 0, 0)
    acked = "select signalbox.event_total(totals, 'acked') from signalbox.queue_totals(array[%s::integer])"
    assert engine.value(acked, engine.queue_id) == 1


def test_a_transaction_open_for_hours_does_not_hide_or_repeat_counts(engine: Engine, connect: Connect) -> None:
    idle, slow = connect(autocommit=False), connect(autocommit=False)
    idle.execute("select pg_current_xact_id()")
    engine.on(slow).send("slow")
    for _ in range(3):
        engine.send("x")
        engine.value("select signalbox.aggregate_counters()")
        assert engine.counted()[0] == engine.recounted()[0]
    slow.commit()

    assert engine.counted() == engine.recounted() == (4, 0, 0, 0, 0)
    engine.value("select signalbox.aggregate_counters()")
    assert engine.counted() == (4, 0, 0, 0, 0)


def test_the_end_of_the_log_is_published_only_once_it_is_committed(engine: Engine, connect: Connect) -> None:
    made = connect(autocommit=False)
    before = engine.value("select pg_sequence_last_value('signalbox.log_end')")
    made.execute("select signalbox._ensure_segment(%s)", [before + 1])
    made.execute("select signalbox.publish_log_end()")
    made.rollback()

    assert engine.value("select pg_sequence_last_value('signalbox.log_end')") == before


def test_each_bucket_of_history_is_recorded_once(chores: Chores, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events since the last record belong to the next one: never nine seconds in one and eighteen in another."""
    now = 1_000_000.0
    recorded: list[float] = []
    monkeypatch.setattr(queues.upkeep.upkeep, "time", SimpleNamespace(time=lambda: now))
    monkeypatch.setattr(chores, "_value", lambda _: recorded.append(now))
    (step,) = (step for step in chores.steps if step.name == "record_history")
    chores.record_history()

    for beat in range(int(300 / chores.beat_seconds)):
        now = 1_000_000.0 + beat * chores.beat_seconds
        if step.due_at <= now:
            step.run()
            step.postpone(now)

    assert [second % 10 for second in recorded[1:]] == [9.0] * 30


def test_one_call_of_the_verb_does_one_step_in_turn(engine: Engine) -> None:
    steps = engine.value("select signalbox.upkeep_steps()")
    said = {engine.value("select signalbox.upkeep()").split(":")[0] for _ in steps}

    assert {"aggregate_counters", "record_history", "ensure_partitions", "drop_kept"} <= said
    assert len(said) == len(steps)
