"""Deferral: a later time and a saved state, no failure, no count towards max_receives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from queues.codes import EVENTS
from tests.engine import Engine

MakeEngine = Callable[..., Engine]

DEFERRED = next(event.number for event in EVENTS if event.name == "deferred")


def defer(engine: Engine, handle: str, seconds: float = 0, state: Any = None) -> Any:
    given = None if state is None else Jsonb(state)
    return engine.value("select signalbox.defer(%s, %s, %s)", handle, seconds, given)


def deliver(engine: Engine) -> tuple[str, int, Any]:
    """Receive the one message: its handle, the number of this delivery, and its state."""
    (row,) = engine.rows("select receipt_handle, receive_count, state from signalbox.receive(%s)", engine.queue)
    handle, receive_count, state = row
    return handle, receive_count, state


def failures(engine: Engine) -> int:
    return int(engine.value("select count(*) from signalbox.failure where queue_id = %s", engine.queue_id))


A_THOUSAND_DEFERRALS = """
do $$
declare
  v_handle text;
begin
  for n in 1..1000 loop
    select r.receipt_handle into strict v_handle from signalbox.receive('{queue}') r;
    perform signalbox.defer(v_handle, 0, to_jsonb(n));
    commit;
  end loop;
end $$
"""


def test_a_message_deferred_a_thousand_times_dies_of_failures_alone(make_engine: MakeEngine) -> None:
    engine = make_engine(max_receives=2, backoff_base_seconds=8.0, jitter=0.0)
    message_id = engine.send("work")
    engine.connection.execute(A_THOUSAND_DEFERRALS.format(queue=engine.queue))
    assert failures(engine) == 0
    assert engine.value("select status from signalbox.message_outcome(%s)", message_id) == "pending"
    assert engine.value("select status from signalbox.message_status where message_id = %s", message_id) == "pending"

    handle, count, state = deliver(engine)
    assert (count, state) == (1001, 1000)
    assert engine.nack(handle) == "retry"
    backoff = "select extract(epoch from retry_at - failed_at) from signalbox.failure where message_id = %s"
    assert round(engine.value(backoff, message_id)) == 8
    assert engine.value("select status from signalbox.message_outcome(%s)", message_id) == "failed"

    engine.connection.execute("update signalbox.scheduled set due_at = now() where message_id = %s", [message_id])
    assert engine.nack(deliver(engine)[0]) == "dead"
    assert engine.value("select count(*) from signalbox.message_state where message_id = %s", message_id) == 0


def test_the_most_deliveries_that_a_ticket_counts_still_leave_room_for_failures(make_engine: MakeEngine) -> None:
    engine = make_engine(max_receives=2)
    message_id = engine.send("work")
    defer(engine, deliver(engine)[0])
    for table, column in (("scheduled", "receive_count"), ("message_state", "deferrals")):
        engine.connection.execute(f"update signalbox.{table} set {column} = 32766 where message_id = %s", [message_id])
    for _ in range(3):
        handle, count, _ = deliver(engine)
        assert count == 32767
        defer(engine, handle)
    assert engine.value("select deferrals from signalbox.message_state where message_id = %s", message_id) == 32766
    assert engine.nack(deliver(engine)[0], delay_seconds=0) == "retry"


def test_an_expired_lease_counts_and_a_deferral_does_not(make_engine: MakeEngine) -> None:
    engine = make_engine(max_receives=2)
    message_id = engine.send("work")
    for _ in range(3):
        defer(engine, deliver(engine)[0])
    for dead_letters in (0, 1):
        deliver(engine)
        engine.connection.execute("update signalbox.lease set deadline = now() where message_id = %s", [message_id])
        engine.rows("select signalbox._return_expired(%s, '-infinity', 10)", engine.queue_id)
        died = engine.value("select count(*) from signalbox.dead_letter where message_id = %s", message_id)
        assert died == dead_letters


def test_a_state_stays_until_another_replaces_it_and_the_count_stays_without_one(make_engine: MakeEngine) -> None:
    engine = make_engine(max_receives=1)
    engine.send("work")
    states = []
    for given in (None, {"page": 1}, None, "other"):
        handle, _, state = deliver(engine)
        states.append(state)
        assert defer(engine, handle, 0, given) is not None
    assert states == [None, None, {"page": 1}, {"page": 1}]
    handle, _, state = deliver(engine)
    assert state == "other"
    engine.value("select signalbox.defer(%s, 0, 'null')", handle)
    handle, count, state = deliver(engine)
    assert (count, state) == (6, None)
    assert engine.ack(handle) == [True]
    assert engine.value("select count(*) from signalbox.message_state where queue_id = %s", engine.queue_id) == 0


def test_a_deferral_has_a_counter_and_a_line_in_the_story(engine: Engine) -> None:
    message_id = engine.send("work")
    handle, *_ = deliver(engine)
    due_at = defer(engine, handle, 3600)
    assert defer(engine, handle, 3600) is None
    total = "select totals[%s] from signalbox.queue_totals(array[%s::integer])"
    assert engine.value(total, DEFERRED, engine.queue_id) == 1
    assert engine.counted() == engine.recounted() == (0, 1, 0, 0, 0)
    deliveries = engine.value("select deliveries from signalbox.message_story(%s)", message_id)
    assert [(each["receive_count"], each["reason"]) for each in deliveries] == [(1, "deferred")]
    assert engine.value("select due_at from signalbox.deferral where message_id = %s", message_id) == due_at


def test_a_deferred_message_holds_its_fifo_group_and_frees_a_limited_one(make_engine: MakeEngine) -> None:
    fifo, limited = make_engine(mode="fifo"), make_engine(group_max_in_flight=1)
    for engine in (fifo, limited):
        engine.send(1, group_id="g")
        engine.send(2, group_id="g")
        defer(engine, deliver(engine)[0], 3600)
    assert fifo.receive() == []
    assert [row[3] for row in limited.receive()] == [2]


@pytest.mark.parametrize(
    ("arguments", "column"),
    [
        ("%s, -1", "delay_seconds"),
        ("%s, 31536001", "delay_seconds"),
        ("%s, null", "delay_seconds"),
        ("%s, 'NaN'", "delay_seconds"),
        ("%s, 0, to_jsonb(repeat('x', 16384))", "state"),
        ("left(%s, 5), 0", "receipt_handle"),
    ],
)
def test_a_refused_deferral_names_the_field_and_keeps_the_lease(engine: Engine, arguments: str, column: str) -> None:
    engine.send("work")
    handle, *_ = deliver(engine)
    with pytest.raises(psycopg.Error) as refused:
        engine.value(f"select signalbox.defer({arguments})", handle)
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", column)
    assert engine.ack(handle) == [True]


def test_two_answers_to_one_delivery_have_one_effect(engine: Engine, connect: Callable[..., Any]) -> None:
    """The ack waits for the deferral, and finds the lease gone."""
    other = engine.on(connect(autocommit=False))
    engine.send("work")
    handle, *_ = deliver(engine)
    assert defer(other, handle) is not None
    engine.connection.execute("set lock_timeout = '50ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        engine.ack(handle)
    other.connection.commit()
    assert engine.ack(handle) == [False]
    assert engine.counted() == engine.recounted()
