"""The log never ends, and a body is there for as long as its ticket (hazards 8 and 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from queues.upkeep.upkeep import Chores
from tests.engine import Engine
from tests.races.sessions import finish, start, until, until_waiting

Connect = Callable[..., psycopg.Connection[Any]]

SEGMENT_IDS = 1_000_000
SEND_BATCH = "select array_agg(id) from signalbox.send_batch(%s, array_fill('1'::jsonb, array[%s])) id"


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold a session that detaches a segment until its release."""
    monkeypatch.setattr("queues.upkeep.detaching.DETACH_PATIENCE", "80s")


@pytest.fixture(autouse=True)
def log_in_order(observer: psycopg.Connection[Any]) -> Iterator[None]:
    """Restore future segments after any test."""
    yield
    observer.execute("select signalbox.ensure_partitions()")
    observer.execute("select signalbox.publish_log_end()")


def go_to_the_end(engine: Engine, ids_before: int = 0) -> int:
    """Draw ids up to just before the end of the last segment there is, as senders do when upkeep is gone for long.

    Returns the number of the segment that is missing.
    """
    engine.value("select signalbox.ensure_partitions()")
    end: int = engine.value("select signalbox.publish_log_end()")
    engine.value("select setval('signalbox.message_id', %s)", end - ids_before)
    return end // SEGMENT_IDS


def exists(engine: Engine, segment: int) -> bool:
    return bool(engine.value("select to_regclass(%s) is not null", f"signalbox.message_{segment}"))


def test_a_sender_beyond_the_end_of_the_log_makes_the_segment(engine: Engine) -> None:
    segment = go_to_the_end(engine)

    message_id = engine.send("beyond")

    assert message_id == segment * SEGMENT_IDS + 1
    assert exists(engine, segment)
    assert [row[0] for row in engine.receive(10)] == [message_id]


def test_a_batch_may_cross_the_end_of_the_log(engine: Engine) -> None:
    segment = go_to_the_end(engine, ids_before=2)

    ids = engine.value(SEND_BATCH, engine.queue, 5)

    assert ids == [segment * SEGMENT_IDS + n for n in (-1, 0, 1, 2, 3)]
    assert sorted(row[0] for row in engine.receive(10)) == ids


def test_dead_letters_received_beyond_the_end_of_the_log_find_a_segment(engine: Engine) -> None:
    engine.die("x")
    segment = go_to_the_end(engine)

    rows = engine.rows("select message_id, payload from signalbox.receive(%s)", f"{engine.queue}-dlq")

    assert rows == [(segment * SEGMENT_IDS + 1, "x")]


def test_of_many_senders_beyond_the_end_one_makes_the_segment(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    segment = go_to_the_end(engine)
    maker = engine.on(connect())
    maker.connection.execute("begin")
    maker.send("maker")
    others = [engine.on(connect()) for _ in range(3)]
    sending = [start(other.send, "other") for other in others]
    until_waiting(observer, *[other.connection for other in others])
    maker.connection.execute("commit")

    ids = [finish(call) for call in sending]

    assert sorted(ids) == [segment * SEGMENT_IDS + n for n in (2, 3, 4)]
    assert len(engine.receive(10)) == 4


def test_a_segment_made_in_a_transaction_that_fails_is_made_again(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    segment = go_to_the_end(engine)
    maker, other = engine.on(connect()), engine.on(connect())
    maker.connection.execute("begin")
    maker.send("maker")
    sending = start(other.send, "other")
    until_waiting(observer, other.connection)
    maker.connection.execute("rollback")

    assert finish(sending) == segment * SEGMENT_IDS + 2
    assert exists(engine, segment)


def test_an_open_reader_of_the_log_does_not_hold_up_a_new_segment(engine: Engine, connect: Connect) -> None:
    segment = go_to_the_end(engine)
    reader = connect()
    reader.execute("begin isolation level repeatable read")
    reader.execute("select count(*) from signalbox.message where queue_id = %s", [engine.queue_id])
    engine.connection.execute("set lock_timeout = '300ms'")

    engine.send("beyond")

    assert exists(engine, segment)
    segment = go_to_the_end(engine)
    with pytest.raises(psycopg.errors.LockNotAvailable):  # what a partition made in place does
        engine.connection.execute(
            f"create table signalbox.message_{segment} partition of signalbox.message"
            f" for values from ({segment * SEGMENT_IDS + 1}) to ({(segment + 1) * SEGMENT_IDS + 1})".encode()
        )


@pytest.mark.parametrize("table", ["settled", "failure"])
def test_history_of_a_day_without_a_partition_has_a_place(engine: Engine, table: str) -> None:
    """Acks continue at midnight without upkeep; the row waits in the default partition."""
    with engine.connection.transaction(force_rollback=True):
        if table == "settled":
            statement = (
                "insert into signalbox.settled (queue_id, settled_at, message_ids, receive_counts, work_ms)"
                " values (%s, now() + interval '1 year', '{1}', '{1}', '{1}') returning tableoid::regclass::text"
            )
        else:
            statement = (
                "insert into signalbox.failure (queue_id, message_id, receive_count, failed_at, reason, fingerprint)"
                " values (%s, 1, 1, now() + interval '1 year', 'x', 'x') returning tableoid::regclass::text"
            )
        assert engine.value(statement, engine.queue_id) in (f"{table}_default", f"signalbox.{table}_default")


def test_the_daily_jump_draws_no_id_twice(engine: Engine, connect: Connect) -> None:
    """Two segments on: an id drawn at the moment of the jump is far below the first one drawn after it."""
    before = engine.send("before")
    engine.value("select signalbox.ensure_partitions()")
    engine.rows(
        "update signalbox.segment set opened_at = now() - interval '2 days' where sealed_at is null returning 1"
    )
    sender = engine.on(connect())

    def send_until_far() -> list[int]:
        ids: list[int] = []
        until(lambda: ids.append(sender.send("during")) or ids[-1] > before + SEGMENT_IDS, "an id after the jump")
        return ids

    sending = start(send_until_far)
    until(lambda: engine.value("select pg_sequence_last_value('signalbox.message_id')") > before, "a first send")
    engine.value("select signalbox.ensure_partitions()")
    ids = finish(sending)

    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids)
    assert (ids[-1] - 1) // SEGMENT_IDS == (before - 1) // SEGMENT_IDS + 2
    engine.value("select signalbox.ensure_partitions()")  # the segments of the next ids
    assert exists(engine, (ids[-1] - 1) // SEGMENT_IDS + 4)


def test_every_segment_that_was_left_is_sealed_even_if_upkeep_never_saw_it_open(engine: Engine) -> None:
    """A segment skipped or filled without upkeep must be sealed, or it is never dropped."""
    engine.value("select signalbox.ensure_partitions()")
    engine.send("first")
    first = engine.value("select pg_sequence_last_value('signalbox.message_id')") // SEGMENT_IDS
    for _ in range(2):  # filled from end to end between two calls of upkeep
        go_to_the_end(engine)
        last = (engine.send("emergency") - 1) // SEGMENT_IDS

    engine.value("select signalbox.ensure_partitions()")

    sealed = engine.rows(
        "select segment_number from signalbox.segment where sealed_at is not null and segment_number >= %s order by 1",
        first,
    )
    assert [row[0] for row in sealed] == [number for number in range(first, last) if exists(engine, number)]
    assert engine.rows("select segment_number from signalbox.segment where sealed_at is null") == [(last,)]


def enter_a_new_segment(engine: Engine) -> None:
    """Begin a segment in which this test's messages are the only ones."""
    last = engine.value("select coalesce(pg_sequence_last_value('signalbox.message_id'), 1)")
    engine.value("select setval('signalbox.message_id', %s)", last // SEGMENT_IDS * SEGMENT_IDS + SEGMENT_IDS + 1)
    engine.value("select signalbox.ensure_partitions()")


def leave_and_forget_the_segment(engine: Engine) -> int:
    """Begin the next segment, and make the last one so old that no retention needs it; returns its number."""
    segment: int = engine.value("select pg_sequence_last_value('signalbox.message_id') / 1000000")
    enter_a_new_segment(engine)
    engine.rows(
        "update signalbox.segment set sealed_at = now() - interval '3 years' where segment_number = %s returning 1",
        segment,
    )
    return segment


def kept(engine: Engine) -> list[int]:
    rows = engine.rows("select message_id from signalbox.message_kept where queue_id = %s order by 1", engine.queue_id)
    return [row[0] for row in rows]


def test_a_dropped_segment_leaves_the_bodies_of_live_tickets(engine: Engine, connect: Connect) -> None:
    enter_a_new_segment(engine)
    acked, leased = engine.send("acked"), engine.send("leased")
    engine.ack(engine.receive_one()[1])
    engine.receive_one(visibility_timeout=0)
    ready = engine.send("ready")
    scheduled = engine.send("scheduled", delay_seconds=3600)
    segment = leave_and_forget_the_segment(engine)

    Chores(connect()).drop_segments()

    assert not exists(engine, segment)
    assert kept(engine) == [leased, ready, scheduled]
    assert acked not in kept(engine)
    engine.rows("update signalbox.scheduled set due_at = now() where queue_id = %s returning 1", engine.queue_id)
    assert {row[0]: row[3] for row in engine.receive(10)} == {
        leased: "leased",
        ready: "ready",
        scheduled: "scheduled",
    }


def test_a_kept_body_is_dropped_after_its_ticket(engine: Engine, connect: Connect) -> None:
    enter_a_new_segment(engine)
    message_id = engine.send("long-lived")
    leave_and_forget_the_segment(engine)
    Chores(connect()).drop_segments()
    engine.rows(
        "update signalbox.message_kept set kept_at = '-infinity' where queue_id = %s returning 1", engine.queue_id
    )

    engine.value("select signalbox.drop_kept()")
    assert kept(engine) == [message_id]
    handle = engine.receive_one()[1]
    engine.value("select signalbox.drop_kept()")
    assert kept(engine) == [message_id]
    engine.ack(handle)
    engine.value("select signalbox.drop_kept()")
    assert kept(engine) == []


def test_a_segment_dropped_without_keeping_bodies_would_be_an_error_and_no_silent_loss(engine: Engine) -> None:
    enter_a_new_segment(engine)
    lost = engine.send("lost")
    segment = leave_and_forget_the_segment(engine)
    with engine.connection.transaction(force_rollback=True):
        engine.connection.execute(f"drop table signalbox.message_{segment}".encode())
        with pytest.raises(psycopg.errors.DataCorrupted, match=f"message {lost} has a ticket but no body"):
            engine.receive(1)


def test_a_message_that_dies_after_its_segment_was_dropped_takes_its_body_along(
    engine: Engine, connect: Connect
) -> None:
    enter_a_new_segment(engine)
    message_id = engine.send({"order": 7})
    handle = engine.receive_one()[1]
    leave_and_forget_the_segment(engine)
    Chores(connect()).drop_segments()

    assert engine.nack(handle, reason="rejected") == "dead"

    assert engine.value("select payload from signalbox.dead_letter where message_id = %s", message_id) == {"order": 7}
    engine.value(
        "select signalbox.redrive(array(select dead_letter_id from signalbox.dead_letter where message_id = %s))",
        message_id,
    )
    assert engine.receive_one()[3] == {"order": 7}


@pytest.mark.usefixtures("patient")
def test_a_ticket_that_moves_while_its_segment_is_detached_keeps_its_body(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    enter_a_new_segment(engine)
    message_id = engine.send("moving")
    segment = leave_and_forget_the_segment(engine)
    claimer = engine.on(connect())
    claimer.connection.execute("begin")
    handle = claimer.receive_one()[1]
    upkeep = connect()
    dropping = start(Chores(upkeep).drop_segments)
    until_waiting(observer, upkeep)  # for the claimer, who reads the log
    claimer.connection.execute("commit")
    with suppress(psycopg.errors.LockNotAvailable):  # a slow machine may have let its patience run out
        finish(dropping)
    Chores(upkeep).drop_segments()

    assert not exists(engine, segment)
    assert kept(engine) == [message_id]
    assert engine.ack(handle) == [True]


@pytest.mark.usefixtures("patient")
def test_a_message_that_commits_while_its_segment_is_detached_keeps_its_body(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    """The sender stayed open for longer than any retention: bodies are searched a second time."""
    enter_a_new_segment(engine)
    sender = engine.on(connect())
    sender.connection.execute("begin")
    message_id = sender.send("late")
    segment = leave_and_forget_the_segment(engine)
    upkeep = connect()
    dropping = start(Chores(upkeep).drop_segments)
    until_waiting(observer, upkeep)
    sender.connection.execute("commit")
    with suppress(psycopg.errors.LockNotAvailable):
        finish(dropping)
    Chores(upkeep).drop_segments()

    assert not exists(engine, segment)
    assert [(row[0], row[3]) for row in engine.receive(10)] == [(message_id, "late")]


def test_a_reader_of_the_log_makes_neither_upkeep_nor_verbs_wait_for_long(engine: Engine, connect: Connect) -> None:
    enter_a_new_segment(engine)
    message_id = engine.send("waiting")
    segment = leave_and_forget_the_segment(engine)
    reader = connect()
    reader.execute("begin isolation level repeatable read")
    reader.execute("select count(*) from signalbox.message where queue_id = %s", [engine.queue_id])
    rounds = Chores(connect())

    with pytest.raises(psycopg.errors.LockNotAvailable):
        rounds.drop_segments()

    assert exists(engine, segment)
    assert [row[0] for row in engine.receive(10)] == [message_id]
    assert reader.execute("select payload from signalbox.message where message_id = %s", [message_id]).fetchone()
    engine.send("sent in between")
    reader.execute("commit")
    rounds.drop_segments()
    assert not exists(engine, segment)


@pytest.mark.usefixtures("patient")
def test_a_detach_that_was_interrupted_is_finished_later(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    """A process killed while waiting for readers leaves its segment pending, and the next process would fail."""
    enter_a_new_segment(engine)
    segment = leave_and_forget_the_segment(engine)
    reader, upkeep = connect(), connect()
    reader.execute("begin")
    reader.execute("select count(*) from signalbox.message where queue_id = %s", [engine.queue_id])
    dropping = start(Chores(upkeep).drop_segments)
    until_waiting(observer, upkeep)
    observer.execute("select pg_terminate_backend(%s)", [upkeep.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):
        finish(dropping)
    reader.execute("commit")

    Chores(connect()).drop_segments()

    assert not exists(engine, segment)


@pytest.mark.parametrize("time_zone", ["UTC", "Pacific/Kiritimati", "Pacific/Midway"])
def test_history_is_kept_as_long_in_every_time_zone(engine: Engine, time_zone: str) -> None:
    """Partitions are named by the hour in UTC at which their six hours begin; upkeep may live in any time zone."""
    with engine.connection.transaction(force_rollback=True):
        engine.value("select set_config('timezone', %s, true)", time_zone)
        for hours in (26, 36):
            engine.value(
                "select signalbox._ensure_period('dedup', at, at + interval '6 hours', 'YYYYMMDDHH24')"
                " from (select date_trunc('hour', now(), 'UTC') - %s * interval '1 hour' as at) ago",
                hours,
            )
        names = "select to_char(now() at time zone 'UTC' - %s * interval '1 hour', '\"dedup_\"YYYYMMDDHH24')"
        dropped = [
            name for names in iter(lambda: engine.value("select signalbox.drop_history()"), []) for name in names
        ]

        assert engine.value(names, 26) not in dropped
        assert engine.value(names, 36) in dropped


def test_a_body_that_a_redrive_needs_again_is_not_dropped_behind_it(engine: Engine, connect: Connect) -> None:
    """The drop finds a body that nothing needs, and that a redrive has begun to need.

    It passes it by: redrives lock bodies in an order of their own, so waiting for one could be waiting in a circle.
    """
    letter = engine.die("needed again")
    (redriven,) = engine.rows("select message_id from signalbox.redrive(array[%s::bigint])", letter)
    handle = engine.receive_one()[1]
    engine.nack(handle, reason="rejected")
    engine.rows(
        "update signalbox.message_kept set kept_at = '-infinity' where queue_id = %s returning 1", engine.queue_id
    )
    operator, upkeep = engine.on(connect()), engine.on(connect())
    operator.connection.execute("begin")
    operator.value(
        "select signalbox.redrive(array(select dead_letter_id from signalbox.dead_letter where message_id = %s))",
        redriven[0],
    )
    upkeep.connection.execute("set lock_timeout = '1s'")
    upkeep.value("select signalbox.drop_kept()")
    operator.connection.execute("commit")

    assert kept(engine) == [redriven[0]]


def until_upkeep_says(engine: Engine, step: str, wanted: str) -> None:
    """Call a step of upkeep from outside until it says this; a few calls are enough."""
    said = [engine.value("select signalbox.upkeep(%s)", step) for _ in range(8)]
    assert f"{step}: {wanted}" in said


@pytest.fixture
def no_session_leads(observer: psycopg.Connection[Any]) -> None:
    observer.execute("update signalbox.upkeep_leader set expires_at = '-infinity'")


@pytest.mark.usefixtures("no_session_leads")
def test_calls_from_outside_drop_a_segment_that_is_over(engine: Engine) -> None:
    enter_a_new_segment(engine)
    ready = engine.send("ready")
    segment = leave_and_forget_the_segment(engine)

    until_upkeep_says(engine, "drop_segments", "1 segments")

    assert not exists(engine, segment)
    assert [row[3] for row in engine.receive(10)] == ["ready"]
    assert kept(engine) == [ready]


@pytest.mark.usefixtures("no_session_leads")
def test_a_segment_that_is_read_is_left_by_calls_from_outside(engine: Engine, connect: Connect) -> None:
    enter_a_new_segment(engine)
    segment = leave_and_forget_the_segment(engine)
    reader = connect(autocommit=False)
    reader.execute("select count(*) from signalbox.message")

    assert engine.value("select signalbox.drop_segments()") == []

    assert exists(engine, segment)
    reader.rollback()
    until_upkeep_says(engine, "drop_segments", "1 segments")


@pytest.mark.usefixtures("no_session_leads")
def test_segments_are_left_to_the_process_that_keeps_the_floors(engine: Engine) -> None:
    enter_a_new_segment(engine)
    segment = leave_and_forget_the_segment(engine)
    engine.rows(
        "insert into signalbox.upkeep_leader (token, expires_at)"
        " values (gen_random_uuid(), clock_timestamp() + interval '5 seconds')"
        " on conflict (only_row) do update set expires_at = excluded.expires_at returning 1"
    )

    assert [engine.value("select signalbox.drop_segments()") for _ in range(3)] == [[]] * 3

    assert exists(engine, segment)
    engine.rows("update signalbox.upkeep_leader set expires_at = '-infinity' returning 1")
    until_upkeep_says(engine, "drop_segments", "1 segments")
