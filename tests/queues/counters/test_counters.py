"""Numbers for pages and scrapes: exact, at a cost that does not depend on messages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from psycopg.types.json import Jsonb

from queues.counters.queue_numbers import read_numbers, read_tenants
from queues.history.last_hour import sparklines
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")


def test_numbers_follow_a_message_through_its_life(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(max_receives=1)
    for _ in range(3):
        engine.send("x")
    engine.send("later", delay_seconds=60)
    done, failed = engine.receive_one()[1], engine.receive_one()[1]
    engine.ack(done)
    engine.nack(failed)

    (numbers,) = read_numbers([engine.queue_id])

    assert (numbers.ready, numbers.scheduled, numbers.leased, numbers.dead) == (1, 1, 0, 1)
    assert numbers.totals["published"] == 4
    assert numbers.totals["delivered"] == 2
    assert numbers.totals["acked"] == numbers.totals["nacked"] == numbers.totals["dead_lettered"] == 1
    assert numbers.dead_lettered_by_reason == {"rejected": 0, "runtime_error": 1, "lock_expired": 0}
    assert numbers.added_total - numbers.removed_total == numbers.ready + numbers.scheduled + numbers.leased
    assert numbers.oldest_ready_age_seconds is not None
    assert 0 <= numbers.oldest_ready_age_seconds < 600


def test_an_empty_queue_has_no_age(engine: Engine) -> None:
    (numbers,) = read_numbers([engine.queue_id])

    assert numbers.oldest_ready_age_seconds is None
    assert (numbers.ready, numbers.in_per_second, numbers.out_per_second) == (0, 0, 0)


def test_the_age_is_since_visible_wherever_the_message_waits(engine: Engine) -> None:
    def age() -> float | None:
        return read_numbers([engine.queue_id])[0].oldest_ready_age_seconds

    engine.send("x", delay_seconds=60)
    assert age() is None
    engine.rows(
        "update signalbox.scheduled set due_at = clock_timestamp() - interval '2000 seconds'"
        " where queue_id = %s returning 1",
        engine.queue_id,
    )
    assert age() == pytest.approx(2000, abs=500)

    engine.receive_one()
    assert age() is None
    engine.rows(
        "update signalbox.lease set deadline = clock_timestamp() - interval '4000 seconds'"
        " where queue_id = %s returning 1",
        engine.queue_id,
    )
    assert age() == pytest.approx(4000, abs=500)


def test_a_dead_letter_queue_shows_what_it_holds(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine()
    engine.die("x")
    letters = engine.value("select queue_id from signalbox.queue where name = %s", f"{engine.queue}-dlq")

    (numbers,) = read_numbers([letters])

    assert (numbers.is_dead_letter_queue, numbers.dead, numbers.ready) == (True, 1, 0)


def test_reading_takes_two_queries_however_many_queues(make_engine: Callable[..., Engine]) -> None:
    few = [make_engine().queue_id]
    many = few + [make_engine().queue_id for _ in range(20)]
    read_numbers(few)  # learns the events once

    for queue_ids in (few, many, None):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            read_numbers(queue_ids)
        assert len(queries) == 2


def test_counters_stay_exact_across_folds(engine: Engine) -> None:
    engine.send("x")
    assert engine.queue_id in engine.value("select signalbox.aggregate_counters()")
    engine.send("y")

    assert engine.counted() == engine.recounted() == (2, 0, 0, 0, 0)
    engine.value("select signalbox.aggregate_counters()")
    assert engine.counted() == (2, 0, 0, 0, 0)
    assert engine.queue_id not in engine.value("select signalbox.aggregate_counters()")


def upkeep_recorded(engine: Engine, first: int, last: int) -> None:
    """Upkeep has recorded these buckets, counted back from the current one."""
    engine.rows(
        "insert into signalbox.history_record (step_seconds, bucket_at, seconds, aggregation_id)"
        " select 10, date_bin('10 s', now(), '2000-01-01') - n * interval '10 s', 10, 0"
        " from generate_series(%s::integer, %s::integer) n"
        " on conflict do nothing returning 1",
        first,
        last,
    )


def test_history_without_records_is_a_gap(engine: Engine) -> None:
    """An outage of upkeep says nothing of the queue; two skipped buckets are no outage."""
    engine.rows(
        "insert into signalbox.queue_history (queue_id, bucket_at, seconds, ready, scheduled, leased, dead,"
        " oldest_ready_age_seconds, published, delivered, acked, nacked, dead_lettered, removed)"
        " select %s, date_bin('10 s', now(), '2000-01-01') - n * interval '10 s', 10, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0"
        " from unnest(array[0, 1, 4, 15]) n returning 1",
        engine.queue_id,
    )
    engine.rows("delete from signalbox.history_record returning 1")

    points = sparklines([engine.queue_id], points=30)[engine.queue_id]

    assert [point.ready for point in points] == [7, *[None] * 10, 7, 7, 7, 7, 7]
    assert [point.published_per_second is None for point in points] == [point.is_gap for point in points]


def test_history_repeats_the_depth_of_a_queue_at_rest(engine: Engine) -> None:
    engine.send("x")
    engine.value("select signalbox.record_history()")
    engine.rows(
        "update signalbox.queue_history set bucket_at = bucket_at - interval '100 seconds'"
        " where queue_id = %s returning 1",
        engine.queue_id,
    )
    upkeep_recorded(engine, 0, 10)

    points = sparklines([engine.queue_id], points=30)[engine.queue_id]

    assert 10 <= len(points) <= 29
    assert {point.ready for point in points} == {1}
    assert points[0].published_per_second == pytest.approx(0.1)
    assert points[-1].published_per_second == 0


def test_a_tenant_has_what_its_queues_have_together(make_engine: Callable[..., Engine]) -> None:
    """Depth, in flight and oldest age of a tenant are one sum; a dead letter counts once, where it died."""
    first = make_engine()
    tenant = f"tenant of {first.queue}"
    queues = []
    for name, settings in (("orders", {}), ("exports", {"group_max_in_flight": 1})):
        queue = f"{first.queue}-{name}"
        queue_id = first.value("select signalbox.create_queue(%s, %s, %s)", queue, Jsonb(settings), tenant)
        queues.append(Engine(first.connection, queue, queue_id))
    orders, exports = queues
    for number in range(3):
        orders.send(number)
        exports.send(number, group_id="a")
    orders.send("later", delay_seconds=60)
    orders.nack(orders.receive_one()[1], reason="rejected")
    exports.receive_one()
    orders.rows(
        "update signalbox.ready set ready_at = ready_at - interval '9000 seconds' where queue_id = %s returning 1",
        orders.queue_id,
    )

    with CaptureQueriesContext(connection) as queries:
        (numbers,) = [each for each in read_tenants() if each.tenant == tenant]

    assert len(queries) == 2
    assert numbers.queues == 3  # and the dead-letter queue
    assert (numbers.ready, numbers.scheduled, numbers.waiting, numbers.leased, numbers.dead) == (2, 1, 2, 1, 1)
    assert numbers.depth == 5
    assert numbers.oldest_ready_age_seconds == pytest.approx(9000, abs=500)
