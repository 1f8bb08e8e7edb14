"""Limits of single messages: no delivery after `expires_at`, and a number of deliveries of their own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from queues import codes
from tests.engine import Engine

MakeEngine = Callable[..., Engine]

SEND = "select signalbox.send_limited(%s, '1', now() + interval '1 hour', {most}, delay_seconds => {delay})"


def send(engine: Engine, most: str = "null", delay: str = "null") -> int:
    return int(engine.value(SEND.format(most=most, delay=delay), engine.queue))


def overdue(engine: Engine, *ids: int) -> None:
    """Let the time of these messages be over, as an hour from now it will be."""
    for table in ("message", "message_kept", "message_limit"):
        engine.connection.execute(
            f"update signalbox.{table} set expires_at = now() - interval '1 s' where message_id = any(%s)", [list(ids)]
        )
    engine.connection.execute(
        "update signalbox.message_limit set look_at = now() where message_id = any(%s)", [list(ids)]
    )


def depth(engine: Engine) -> dict[str, int]:
    """The depths, which must equal the rows, and the totals that this feature counts."""
    assert engine.counted() == engine.recounted()
    ready, scheduled, leased, *_ = engine.counted()
    totals = engine.value("select totals from signalbox.queue_totals(array[%s::integer])", engine.queue_id)
    summed = {
        name: sum((totals[number - 1] or 0) for number in codes.totals()[name] if number <= len(totals))
        for name in ("delivered", "redelivered", "expired")
    }
    return {"ready": ready, "scheduled": scheduled, "leased": leased, "waiting": engine.waiting(), **summed}


def received(engine: Engine, count: int = 1) -> list[int]:
    return [row[0] for row in engine.rows("select message_id from signalbox.receive(%s, %s)", engine.queue, count)]


def upkeep(engine: Engine) -> None:
    engine.connection.execute("select signalbox.expire_messages()")


@pytest.mark.parametrize("count", [1, 10])
def test_a_message_is_not_delivered_after_its_time_and_ends_as_expired(make_engine: MakeEngine, count: int) -> None:
    engine = make_engine()
    gone = [send(engine) for _ in range(60)]
    kept = [send(engine), engine.send("plain")]
    overdue(engine, *gone)
    got = received(engine, count) + received(engine, count)
    assert got == kept
    numbers = depth(engine)
    assert (numbers["ready"], numbers["leased"], numbers["delivered"], numbers["expired"]) == (0, 2, 2, 60)
    outcome = engine.rows("select status, outcome from signalbox.message_outcome(%s)", gone[0])
    assert outcome == [("expired", "expired")]


def test_upkeep_expires_messages_wherever_they_wait_and_forgets_limits(make_engine: MakeEngine) -> None:
    engine = make_engine(group_max_in_flight=1)
    ids = [send(engine), send(engine, delay="60")]
    group = "select signalbox.send_limited(%s, '1', now() + interval '1 hour', group_id => 'g')"
    ids += [engine.value(group, engine.queue) for _ in range(2)]
    done = send(engine)
    overdue(engine, *ids)
    upkeep(engine)
    numbers = depth(engine)
    assert (numbers["scheduled"], numbers["waiting"], numbers["ready"], numbers["expired"]) == (0, 0, 1, 4)
    for handle in engine.rows("select receipt_handle from signalbox.receive(%s, 5)", engine.queue):
        engine.ack(handle[0])
    overdue(engine, done)
    upkeep(engine)
    assert engine.value("select count(*) from signalbox.message_limit where queue_id = %s", engine.queue_id) == 0


def test_a_message_in_flight_expires_when_it_comes_back(make_engine: MakeEngine) -> None:
    engine = make_engine()
    message_id = send(engine)
    ((handle,),) = engine.rows("select receipt_handle from signalbox.receive(%s)", engine.queue)
    overdue(engine, message_id)
    upkeep(engine)
    assert depth(engine)["leased"] == 1
    assert engine.value("select signalbox.nack(%s, 0)", handle) == "retry"
    assert received(engine) == []
    assert (depth(engine)["expired"], depth(engine)["redelivered"]) == (1, 0)


def test_a_number_of_deliveries_of_its_own_holds_for_failures_and_lost_leases(make_engine: MakeEngine) -> None:
    engine = make_engine(max_receives=2, backoff_base_seconds=0.0, jitter=0.0)
    once = engine.value("select signalbox.send_limited(%s, '1', max_receives => 1)", engine.queue)
    thrice = engine.value("select signalbox.send_limited(%s, '1', max_receives => 3)", engine.queue)
    lost = engine.value("select signalbox.send_limited(%s, '1', max_receives => 1)", engine.queue)
    answers: dict[int, list[str]] = {once: [], thrice: []}
    for _ in range(5):
        for message_id, handle in engine.rows(
            "select message_id, receipt_handle from signalbox.receive(%s, 5)", engine.queue
        ):
            if message_id != lost:
                answers[message_id].append(engine.value("select signalbox.nack(%s, 0)", handle))
    assert answers == {once: ["dead"], thrice: ["retry", "retry", "dead"]}
    engine.connection.execute("update signalbox.lease set deadline = now() where message_id = %s", [lost])
    engine.connection.execute("select signalbox.return_and_promote(array[%s])", [engine.queue_id])
    assert engine.value("select reason from signalbox.dead_letter where message_id = %s", lost) == "lock_expired"


def test_a_redriven_message_keeps_its_limits(make_engine: MakeEngine) -> None:
    engine = make_engine()
    message_id = send(engine, most="1")
    ((handle,),) = engine.rows("select receipt_handle from signalbox.receive(%s)", engine.queue)
    assert engine.value("select signalbox.nack(%s)", handle) == "dead"
    engine.connection.execute(
        "select signalbox.redrive(array[dead_letter_id]) from signalbox.dead_letter where message_id = %s", [message_id]
    )
    overdue(engine, message_id)
    assert received(engine) == []
    assert depth(engine)["expired"] == 1


def test_a_second_message_of_a_deduplication_id_leaves_the_limits_of_the_first(make_engine: MakeEngine) -> None:
    engine = make_engine()
    plain = engine.value("select signalbox.send(%s, '1', deduplication_id => 'd')", engine.queue)
    statement = "select signalbox.send_limited(%s, '1', now() + interval '1 hour', deduplication_id => 'd')"
    assert engine.value(statement, engine.queue) == plain
    assert engine.value("select count(*) from signalbox.message_limit where message_id = %s", plain) == 0


LATE = datetime(2999, 1, 1, tzinfo=UTC)
PAST = datetime.now(UTC) - timedelta(seconds=1)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"expires_at": LATE}, "expires_at"),
        ({"expires_at": PAST}, "expires_at"),
        ({"max_receives": 0}, "max_receives"),
        ({"max_receives": 1001}, "max_receives"),
        ({"expires_at": datetime.now(UTC) + timedelta(minutes=10), "delay_seconds": 3600.0}, "expires_at"),
    ],
)
def test_limits_that_make_no_sense_are_refused_by_name(
    make_engine: MakeEngine, arguments: dict[str, Any], field: str
) -> None:
    engine = make_engine()
    given = ", ".join(f"{name} => %({name})s" for name in arguments)
    with pytest.raises(psycopg.Error) as refusal:
        engine.connection.execute(
            f"select signalbox.send_limited(%(queue)s, '1', {given})", {"queue": engine.queue, **arguments}
        )
    assert (refusal.value.sqlstate, refusal.value.diag.column_name) == ("SB400", field)


def test_a_plain_send_receive_and_ack_touch_no_table_of_limits(
    make_engine: MakeEngine, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    engine = make_engine()
    limited = make_engine()
    send(limited)
    counts = "select seq_scan + coalesce(idx_scan, 0) from pg_stat_xact_user_tables where relname = 'message_limit'"
    with connect(autocommit=False) as connection:
        before = connection.execute(counts).fetchone()
        connection.execute("select signalbox.send(%s, '1')", [engine.queue])
        connection.execute("select signalbox.send_batch(%s, '{1,2}')", [engine.queue])
        assert connection.execute(counts).fetchone() == before
        connection.commit()
        handles = connection.execute("select receipt_handle from signalbox.receive(%s, 3)", [engine.queue]).fetchall()
        connection.execute("select signalbox.ack(%s)", [[handle for (handle,) in handles]])
        assert len(handles) == 3
        assert connection.execute(counts).fetchone() == before
        connection.execute("select signalbox.send_limited(%s, '1', now() + interval '1 s')", [engine.queue])
        assert connection.execute(counts).fetchone() != before
