"""Each cause of a backlog, made on the real engine, is diagnosed correctly."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from pytest_django.fixtures import Settings

from metrics.diagnosis import Diagnosis, diagnose
from metrics.diagnosis.causes import CAUSES
from metrics.diagnosis.suspects import Cause
from metrics.reading.xmin_holders import read_holders
from queues.control import queues
from tests.engine import Engine
from tests.metrics.holders import forgotten_session
from tests.metrics.scenes import Scene
from tests.races.sessions import until

Scenes = Callable[..., Scene]
Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def make_scene(commits: None, make_engine: Callable[..., Engine]) -> Scenes:
    return lambda **settings: Scene(make_engine(**settings))


@pytest.fixture
def dead_rows(connect: Connect) -> Iterator[None]:
    """Table of tickets full of dead rows that is never vacuumed."""
    session = connect()
    session.execute("alter table signalbox.ready set (autovacuum_enabled = off)")
    session.execute("select pg_stat_reset_single_table_counters('signalbox.ready'::regclass)")
    session.execute(
        "insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id)"
        " select 0, 0, 0, now(), -n from generate_series(1, 120000) n"
    )
    session.execute("delete from signalbox.ready where queue_id = 0")

    def known() -> bool:
        session.execute("select pg_stat_force_next_flush()")
        row = session.execute("select pg_stat_get_dead_tuples('signalbox.ready'::regclass)").fetchone()
        return row is not None and row[0] >= 120_000

    until(known, "statistics of dead rows")
    yield
    session.execute("alter table signalbox.ready reset (autovacuum_enabled)")
    session.execute("vacuum signalbox.ready")


def found(diagnosis: Diagnosis) -> list[Cause]:
    return [suspect.cause for suspect in diagnosis.found]


def test_a_paused_queue(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.usual()
    queues.pause_queue(scene.engine.queue, actor="ana", reason="partner is down")
    scene.send(12)
    scene.age(120)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.PAUSED]
    assert "hands out none of the 12 messages that wait" in diagnosis.sentence
    assert diagnosis.short == "12 messages held back."


def test_a_burst_after_hours_of_rest_counts_from_the_beginning(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.record(3700)
    scene.send(40)
    scene.record(5)

    evidence = scene.evidence()

    assert evidence.minute
    assert evidence.ten_minutes
    assert (evidence.minute.added, evidence.ten_minutes.added) == (40, 40)
    assert evidence.minute.growth == 40
    assert evidence.before
    assert evidence.before.added == 0


def test_a_consumer_outage(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.usual()
    scene.consumers_leave(240)
    scene.send(12)
    scene.age(200)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.CONSUMER_OUTAGE]
    assert diagnosis.sentence.replace("\u00a0", " ").startswith("No consumer in the last minute, the last was seen 4 m")
    assert diagnosis.found[0].figures[1].value == 1


def test_a_queue_that_never_had_a_consumer(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.send(3)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.CONSUMER_OUTAGE]
    assert diagnosis.sentence == "No consumer seen for 24 h; 3 messages wait."


def test_consumers_without_a_name_are_no_outage(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.send(3)
    scene.engine.receive_one()
    scene.age(60)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == []
    assert ruling(diagnosis, Cause.CONSUMER_OUTAGE) == "1 message in flight, with consumers that give no name"


def test_a_burst_of_senders(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.usual(60)
    scene.send(200)
    scene.work(15)
    scene.age(60)
    scene.record(300)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.PRODUCER_BURST]
    # A little less where the diagnosis takes more than a second.
    assert re.match(r"A burst of senders: (20|19(\.\d)?)/min arrived in the last 10", diagnosis.sentence)
    assert "185 messages wait" in diagnosis.sentence


def test_poison_messages(make_scene: Scenes) -> None:
    scene = make_scene(max_receives=3, backoff_base_seconds=0, jitter=0)
    scene.usual()
    scene.send(8)
    while rows := scene.engine.receive(8, consumer="worker-1"):
        for _, handle, *_ in rows:
            scene.engine.nack(handle, error_class="CorruptImageError", error="0 bytes", delay_seconds=0)
    scene.send(11)
    scene.work(6)
    scene.age(60)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.POISON_DATA]
    assert "24 of 30 deliveries failed" in diagnosis.sentence
    assert "100\xa0% of them of CorruptImageError; 8 new dead letters" in diagnosis.sentence


def test_consumers_that_became_slower(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.usual(work_ms=100)
    scene.send(20)
    scene.work(10)
    scene.took(450)
    scene.take(1)
    scene.age(60)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.SLOW_CONSUMERS]
    assert "the work takes 450 ms now, 100 ms before" in diagnosis.sentence.replace("\u00a0", " ")


def test_consumers_that_defer(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.usual()
    scene.send(20)
    for row in scene.take(20):
        scene.engine.value("select signalbox.defer(%s, 600)", row[1])
    scene.send(1)
    scene.age(60)

    diagnosis = scene.diagnose()

    assert found(diagnosis)[0] == Cause.DEFERRAL
    sentence = diagnosis.sentence.replace("\u00a0", " ")
    assert "20 deferrals in 10 m, 100 % of those that ended; 20 are scheduled, 1 wait" in sentence


def test_fewer_consumers(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.record(3600)
    scene.send(200)
    for number in range(4):
        for row in scene.take(50, consumer=f"leaver-{number}"):
            scene.engine.ack(row[1])
    scene.record(600)
    scene.consumers_leave(900)
    scene.send(30)
    scene.work(3)
    scene.age(60)
    scene.record(300)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.FEWER_CONSUMERS]
    assert diagnosis.sentence.startswith("Consumers dropped from 5 to 1 within the hour; throughput fell to ")


def test_a_busy_worker_is_not_taken_for_a_crashed_one(make_scene: Scenes) -> None:
    """Two consumers: one left, and the other holds two long tasks, as a worker of jobs does."""
    scene = make_scene()
    scene.usual()
    scene.consumers_leave(900)
    scene.send(30)
    scene.take(2, consumer="worker-2")
    scene.age(60)

    diagnosis = scene.diagnose()

    assert found(diagnosis)[0] == Cause.SLOW_CONSUMERS
    assert Cause.FEWER_CONSUMERS not in found(diagnosis)
    assert diagnosis.sentence.startswith("Consumers are busy: 2 in flight with 1 consumer, and no delivery has ended")


def test_something_behind_the_consumers_gives_way(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.usual()
    scene.send(30)
    for _, handle, *_ in scene.take(20):
        scene.engine.nack(handle, error_class="TooManyRequests", error="429", delay_seconds=900)
    scene.work(5)
    scene.age(60)
    scene.record(300)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.DOWNSTREAM_THROTTLING]
    assert "20 of 25 deliveries failed" in diagnosis.sentence
    assert "100\xa0% of them with TooManyRequests, and are tried again; 0 new dead letters." in diagnosis.sentence


def test_a_hot_key(make_scene: Scenes) -> None:
    scene = make_scene(group_max_in_flight=1)
    scene.usual(10)
    scene.send(12, group_id="acme")
    scene.send(1, group_id="other")
    scene.send(1, group_id="other")
    scene.lanes_move()
    scene.take(2)
    scene.age(60)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.HOT_KEY]
    assert (
        "the group acme has 92\xa0% of the messages that wait for their groups, 11 messages, with 1 under way"
        in diagnosis.sentence
    )


def test_a_large_group_of_a_shared_queue_is_no_hot_key(make_scene: Scenes) -> None:
    scene = make_scene(fair_groups=True)
    scene.usual(10)
    scene.send(60, group_id="acme")
    scene.send(1, group_id="other")
    scene.take(2)
    scene.age(60)

    diagnosis = scene.diagnose()

    assert Cause.HOT_KEY not in found(diagnosis)
    assert "groups share the queue, and none has a limit" in [suspect.sentence for suspect in diagnosis.ruled_out]


def test_lanes_behind_dead_letters(make_scene: Scenes) -> None:
    scene = make_scene(mode="fifo", fifo_block_on_dead_letter=True)
    scene.record(3600)
    for group in "abc":
        scene.send(4, group_id=group)
    scene.lanes_move()
    for _, handle, *_ in scene.take(3):
        scene.engine.nack(handle, reason="rejected", error_class="Broken")
    scene.age(60)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.LANES_BLOCKED]
    assert diagnosis.sentence.startswith("9 messages held up by their groups, 100\xa0% of them behind dead letters")


def test_the_limit_of_what_may_be_in_flight(make_scene: Scenes) -> None:
    scene = make_scene(max_in_flight=3)
    scene.usual(9)
    scene.send(8)
    scene.take(3)
    scene.age(60)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.QUOTA]
    assert diagnosis.sentence == "3 are in flight, and its limit of 3 (max_in_flight) is reached; 5 wait."


def test_lower_priorities_that_starve(make_scene: Scenes) -> None:
    scene = make_scene(aging_seconds=0)
    scene.usual()
    scene.send(5)
    scene.age(900)
    scene.send(8, priority=9)
    scene.work(6)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.PRIORITY_STARVATION]
    assert diagnosis.found[0].figures[0].value == 0
    assert diagnosis.found[0].figures[2].value == 9


def test_an_old_snapshot(make_scene: Scenes, connect: Connect, settings: Settings) -> None:
    scene = make_scene()
    scene.usual(100)
    scene.send(10)
    scene.work(2)
    scene.age(60)
    settings.OLD_SNAPSHOT_SECONDS = 0
    session = forgotten_session(connect)

    diagnosis = diagnose(scene.evidence(read_holders(young_seconds=0)))

    assert found(diagnosis) == [Cause.OLD_SNAPSHOT]
    assert diagnosis.found[0].proof is not None
    session.rollback()
    assert found(scene.diagnose()) == []


def test_autovacuum_that_is_behind(make_scene: Scenes, dead_rows: None) -> None:
    scene = make_scene()
    scene.usual(100)
    scene.send(10)
    scene.work(2)
    scene.age(60)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.AUTOVACUUM_BEHIND]
    assert "dead rows in ready" in diagnosis.sentence
    assert "never vacuumed" in diagnosis.sentence


def test_a_queue_that_is_closed(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.usual()
    scene.send(6)
    scene.work(2)
    queues.configure_queue(scene.engine.queue, {"closed": True}, actor="ana")
    scene.age(60)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.CLOSED]
    assert diagnosis.sentence == "It is closed: it accepts no more, and hands out the 4 messages that it has."


def test_what_is_scheduled_for_later(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.usual()
    scene.send(4, delay_seconds=7200)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.SCHEDULED]
    assert diagnosis.sentence.replace("\u00a0", " ").startswith(
        "4 messages rest until they are due; the next is due in "
    )
    assert diagnosis.short == ""


def test_half_a_burst_and_half_as_slow_again_is_not_clear(make_scene: Scenes) -> None:
    """Sixty in fifty minutes before, eighteen in ten now; 100 ms before, 150 ms now."""
    scene = make_scene()
    scene.usual(60, work_ms=100)
    scene.send(18)
    scene.work(8)
    scene.took(150)
    scene.take(1)
    scene.age(60)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == []
    assert diagnosis.cause is None
    assert diagnosis.sentence.startswith("Not clear: 9 messages wait")
    assert len(diagnosis.ruled_out) == len(CAUSES)
    assert ruling(diagnosis, Cause.SLOW_CONSUMERS).replace("\u00a0", " ") == "work takes 150 ms, 100 ms before"
    assert "arrive" in ruling(diagnosis, Cause.PRODUCER_BURST)


def test_two_causes_of_failure_in_equal_parts_are_not_clear(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.usual()
    scene.send(30)
    for number, (_, handle, *_) in enumerate(scene.take(20)):
        scene.engine.nack(handle, error_class=("Timeout", "Refused")[number % 2], error="no", delay_seconds=900)
    scene.age(60)

    diagnosis = scene.diagnose()

    assert found(diagnosis) == []
    assert "10 of the latest 20" in ruling(diagnosis, Cause.DOWNSTREAM_THROTTLING)


def test_two_full_causes_are_both_named(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.usual(60)
    scene.consumers_leave(300)
    scene.send(200)
    scene.age(200)
    queues.pause_queue(scene.engine.queue, actor="ana", reason="partner is down")

    diagnosis = scene.diagnose()

    assert found(diagnosis) == [Cause.PAUSED, Cause.CONSUMER_OUTAGE]
    assert "consumers do less too" in ruling(diagnosis, Cause.PRODUCER_BURST)


def test_no_backlog_says_so(make_scene: Scenes) -> None:
    scene = make_scene()
    scene.usual()

    diagnosis = scene.diagnose()

    assert (diagnosis.backlog, diagnosis.sentence, diagnosis.short) == (False, "No backlog.", "")


def ruling(diagnosis: Diagnosis, cause: Cause) -> str:
    (sentence,) = (suspect.sentence for suspect in diagnosis.ruled_out if suspect.cause is cause)
    return sentence
