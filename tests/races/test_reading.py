"""Lookups for people use an index, and mean what they say (hazards 19, 20 and 21)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

from tests.engine import Engine
from tests.queues.receiving.plans import plans_of
from tests.races.floors import Floors

Connect = Callable[..., psycopg.Connection[Any]]

PAGE = (
    "select message_id from signalbox.message where queue_id = %s and message_id < %s order by message_id desc limit 50"
)
SETTLED = (
    "select s.settled_at, m.receive_count, m.work_ms, s.consumer from signalbox.settled s,"
    " unnest(s.message_ids, s.receive_counts, s.work_ms) m(message_id, receive_count, work_ms)"
    " where s.message_ids[1] <= %s and s.message_ids[cardinality(s.message_ids)] >= %s and m.message_id = %s"
)
STATUS = "select status, attempts from signalbox.message_status where queue_id = %s and message_id = %s"


def test_history_tells_the_deliveries_the_time_and_the_consumer_of_every_message(engine: Engine) -> None:
    """The lease is gone; what it knew stays, in parallel arrays in the order of the ids."""
    first, second, third = (engine.send(number) for number in range(3))
    engine.nack(engine.receive_one()[1], delay_seconds=0)
    handles = {row[0]: row[1] for row in engine.receive(3, consumer="worker")}
    engine.ack(handles[third], handles[first], handles[second])

    (row,) = engine.rows(
        "select message_ids, receive_counts, cardinality(work_ms), consumer from signalbox.settled where queue_id = %s",
        engine.queue_id,
    )
    assert row == ([first, second, third], [2, 1, 1], 3, "worker")


def test_a_settled_message_is_found_by_index(engine: Engine, connect: Connect) -> None:
    message_id = engine.send("x")
    engine.ack(engine.receive_one(consumer="worker")[1])
    session = connect()
    session.execute("set enable_seqscan = off")

    plans = plans_of(session, SETTLED, *[message_id] * 3)

    assert [plan.whole_scans() for plan in plans] == [[]] * len(plans)
    ((_, receive_count, _, consumer),) = session.execute(SETTLED, [message_id] * 3).fetchall()
    assert (receive_count, consumer) == (1, "worker")


def test_a_page_of_the_log_comes_from_one_index_without_sorting(engine: Engine, connect: Connect) -> None:
    last = max(engine.send(number) for number in range(5))
    session = connect()
    session.execute("set enable_seqscan = off")
    session.execute("set enable_bitmapscan = off")  # what the planner prefers for a segment with a handful of rows

    plans = plans_of(session, PAGE, engine.queue_id, last)

    assert [plan.whole_scans() for plan in plans] == [[]] * len(plans)
    assert {relation for plan in plans for relation in plan.sorted_relations()} == set()


def test_every_status_says_where_the_message_stands(engine: Engine) -> None:
    pending, delayed, processing, failed, dead, completed = (
        engine.send("x", delay_seconds=60 if number == 1 else 0) for number in range(6)
    )
    handles = {row[0]: row[1] for row in engine.receive(10)}
    engine.value("select signalbox.change_visibility(%s, 0)", handles[pending])
    engine.nack(handles[failed], error="broken")
    engine.nack(handles[dead], reason="rejected")
    engine.ack(handles[completed])

    statuses = {
        message_id: engine.rows(STATUS, engine.queue_id, message_id) for message_id in range(pending, completed + 1)
    }

    assert statuses == {
        pending: [("pending", 1)],
        delayed: [("pending", 0)],
        processing: [("processing", 1)],
        failed: [("failed", 1)],
        dead: [("dead", 1)],
        completed: [("completed", 1)],
    }


def test_a_message_that_was_redriven_has_one_status(engine: Engine) -> None:
    letter = engine.die("x")
    (row,) = engine.rows("select message_id from signalbox.redrive(array[%s::bigint])", letter)

    assert engine.rows(STATUS, engine.queue_id, row[0]) == [("pending", 0)]
    engine.ack(engine.receive_one()[1])
    assert engine.rows(STATUS, engine.queue_id, row[0]) == [("completed", 1)]


def oldest(engine: Engine) -> Any:
    return engine.value("select signalbox.oldest_visible_at(%s)", engine.queue_id)


def test_the_oldest_age_is_since_visible_over_every_priority_and_place(
    engine: Engine, make_floors: Callable[..., Floors]
) -> None:
    """Due and expired messages count from then on, although nothing is received or promoted."""
    make_floors(engine).tick()
    assert oldest(engine) is None
    engine.send("leased")
    engine.receive_one(visibility_timeout=0.000001)
    expired_at = engine.value("select deadline from signalbox.lease where queue_id = %s", engine.queue_id)
    due = engine.send("due", delay_seconds=0.000001)
    high = engine.send("high", priority=9)
    low = engine.send("low")

    assert oldest(engine) == expired_at
    engine.rows("delete from signalbox.lease where queue_id = %s returning 1", engine.queue_id)
    assert oldest(engine) == engine.value("select due_at from signalbox.scheduled where message_id = %s", due)
    engine.rows("delete from signalbox.scheduled where queue_id = %s returning 1", engine.queue_id)
    assert oldest(engine) == engine.value("select ready_at from signalbox.ready where message_id = %s", high)
    assert engine.receive_one()[0] == high
    assert oldest(engine) == engine.value("select ready_at from signalbox.ready where message_id = %s", low)


def test_a_retried_message_is_as_old_as_its_return(engine: Engine) -> None:
    message_id = engine.send("x")
    sent_at = engine.value("select ready_at from signalbox.ready where message_id = %s", message_id)
    handle = engine.receive_one()[1]
    assert oldest(engine) is None
    engine.nack(handle, delay_seconds=0)

    assert oldest(engine) > sent_at


def test_upkeep_promotes_for_queues_without_consumers(engine: Engine) -> None:
    engine.send("due", delay_seconds=0.000001)
    engine.send("leased")
    engine.rows("select signalbox.receive(%s, 10, 0)", engine.queue)
    engine.send("due", delay_seconds=0.000001)

    engine.value("select signalbox.return_and_promote(array[%s])", engine.queue_id)

    assert engine.recounted() == (3, 0, 0, 0, 0)


def test_the_oldest_age_is_read_past_nothing_that_is_not_visible_yet(engine: Engine) -> None:
    """Neither what is delayed nor what is in flight costs more looks, however much of it there is."""
    engine.rows(
        "insert into signalbox.scheduled (queue_id, priority, receive_count, due_at, message_id)"
        " select %s, 0, 0, clock_timestamp() + interval '1 hour', nextval('signalbox.message_id')"
        " from generate_series(1, 2000) returning 1",
        engine.queue_id,
    )
    engine.rows(
        "insert into signalbox.lease (message_id, queue_id, receive_count, priority, deadline, leased_at, nonce)"
        " select nextval('signalbox.message_id'), %s, 1, 0, clock_timestamp() + interval '1 hour', clock_timestamp(),"
        " gen_random_uuid() from generate_series(1, 2000) returning 1",
        engine.queue_id,
    )

    with engine.connection.transaction():
        assert oldest(engine) is None
        engine.rows("select * from signalbox.queue_numbers(array[%s])", engine.queue_id)
        engine.rows("select * from signalbox.queue_leases(array[%s])", engine.queue_id)
        (fetched,) = engine.rows(
            "select sum(idx_tup_fetch)::integer from pg_stat_xact_user_tables"
            " where relid in ('signalbox.scheduled'::regclass, 'signalbox.lease'::regclass)"
        )

    for table in ("scheduled", "lease"):
        engine.rows(f"delete from signalbox.{table} where queue_id = %s returning 1", engine.queue_id)
    assert fetched[0] <= 105  # of leases a hundred, for the longest held of them
