"""Wait and processing times are counted in buckets, and equal the times of single messages."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from psycopg.types.json import Jsonb

from queues.codes import BUCKETS
from queues.counters.durations import BOUNDS, Durations, Spread, read_durations
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")

HALFWAY = [0.001, *[(low + high) / 2 for low, high in pairwise(BOUNDS)], 200_000.0]
"""One duration within each bucket; those above a minute are far from any bound, whatever the machine adds."""
SLOW = range(9, BUCKETS)
"""Buckets whose bounds lie minutes apart: a busy machine cannot push a message into the next."""


def make_older(engine: Engine, table: str, column: str, seconds: float) -> None:
    """Move the start of present messages back by this time."""
    engine.rows(
        f"update signalbox.{table} set {column} = clock_timestamp() - %s * interval '1 second'"
        " where queue_id = %s returning 1",
        seconds,
        engine.queue_id,
    )


def durations(engine: Engine) -> Durations:
    engine.value("select signalbox.aggregate_counters()")
    return read_durations([engine.queue_id])[engine.queue_id]


def test_the_bounds_are_those_of_the_engine(engine: Engine) -> None:
    assert tuple(engine.value("select signalbox.duration_bounds()")) == BOUNDS


@pytest.mark.parametrize("bucket", range(BUCKETS))
def test_a_bound_is_part_of_its_bucket(engine: Engine, bucket: int) -> None:
    low = round(BOUNDS[bucket - 1] * 1000) + 1 if bucket else 0
    high = round(BOUNDS[bucket] * 1000) if bucket < len(BOUNDS) else 2**31 - 1

    for ms in (low, high):
        assert engine.value("select signalbox._duration_bucket(%s)", ms) == bucket + 1


@pytest.mark.parametrize("batch", [1, 3])
def test_waits_are_counted_in_the_bucket_of_their_delay(engine: Engine, batch: int) -> None:
    for bucket in SLOW:
        for _ in range(batch):
            engine.send("x")
        make_older(engine, "ready", "ready_at", HALFWAY[bucket])
        assert len(engine.receive(batch, visibility_timeout=3600)) == batch

    waits = durations(engine).waits

    assert waits.counts == (0,) * 9 + (batch,) * len(SLOW)
    assert waits.seconds == pytest.approx(batch * sum(HALFWAY[bucket] for bucket in SLOW), rel=0.05)
    assert waits.cumulative()[-1] == waits.total == batch * len(SLOW)


def test_only_first_deliveries_wait(engine: Engine) -> None:
    engine.send("x")
    engine.send("y")
    engine.receive(1, visibility_timeout=0)
    engine.receive(2, visibility_timeout=0)  # one of them again
    engine.nack(engine.receive(1)[0][1], delay_seconds=0)
    for row in engine.receive(2):
        engine.nack(row[1], delay_seconds=0)

    assert durations(engine).waits.total == 2


@pytest.mark.parametrize("many", [False, True])
def test_work_is_counted_as_the_history_has_it(engine: Engine, many: bool) -> None:
    for bucket in SLOW:
        engine.send("x")
        engine.send("y")
        handles = [row[1] for row in engine.receive(2, visibility_timeout=3600)]
        make_older(engine, "lease", "leased_at", HALFWAY[bucket])
        if many:
            engine.ack(*handles)
        else:
            assert [engine.ack(handle) for handle in handles] == [[True], [True]]

    work = durations(engine).work

    assert work == recounted(engine)
    assert work.counts == (0,) * 9 + (2,) * len(SLOW)


def test_quick_messages_are_counted_as_the_history_has_them(engine: Engine) -> None:
    """Wherever they fall on this machine: the buckets equal a recount of the log, the sum its milliseconds."""
    for number in range(20):
        engine.send(number)
    for size in (1, 7, 12):
        engine.ack(*(row[1] for row in engine.receive(size)))

    counted = durations(engine)

    assert counted.work == recounted(engine)
    assert counted.waits.total == 20


def recounted(engine: Engine) -> Spread:
    """The work of the queue by its settled log, bucket by bucket without the engine's arithmetic."""
    times = engine.rows(
        "select w from signalbox.settled s, unnest(s.work_ms) w where s.queue_id = %s and s.outcome = 'a'",
        engine.queue_id,
    )
    counts = [0] * BUCKETS
    for (ms,) in times:
        counts[next((place for place, bound in enumerate(BOUNDS) if ms <= bound * 1000), BUCKETS - 1)] += 1
    return Spread(tuple(counts), sum(ms for (ms,) in times) / 1000)


def test_what_a_transaction_folds_of_its_own_is_counted_once(engine: Engine) -> None:
    engine.connection.execute("begin")
    engine.send("x")
    engine.ack(engine.receive_one()[1])
    engine.value("select signalbox.aggregate_counters()")
    engine.connection.execute("commit")

    for _ in range(2):
        assert (durations(engine).waits.total, durations(engine).work.total) == (1, 1)


def test_a_restored_database_goes_on_from_its_last_aggregation(engine: Engine) -> None:
    engine.send("x")
    engine.ack(engine.receive_one()[1])
    counted = durations(engine)
    engine.connection.execute("begin")
    try:
        engine.value("select signalbox._rebase_counters()")
        engine.value("select signalbox.aggregate_counters()")

        numbers = engine.value("select durations from signalbox.queue_durations(array[%s])", engine.queue_id)
    finally:
        engine.connection.execute("rollback")  # other tests' counters come back

    assert Durations.of(numbers) == counted
    assert (counted.waits.total, counted.work.total) == (1, 1)


def test_nothing_is_lost_over_many_folds(engine: Engine) -> None:
    before = durations(engine)
    for _ in range(3):
        engine.send("x")
        engine.ack(engine.receive_one()[1])
        engine.value("select signalbox.aggregate_counters()")

    since = durations(engine) - before

    assert (since.waits.total, since.work.total, since.met) == (3, 3, 3)
    assert (since + since).waits.total == 6


def test_a_target_judges_what_is_delivered_while_it_holds(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(wait_target_seconds=900)
    seen = []
    for target, wait in ((900, 600), (900, 2000), (300, 600), (300, 100), (3600, 2000)):
        engine.value("select signalbox.configure_queue(%s, %s)", engine.queue, Jsonb({"wait_target_seconds": target}))
        engine.send("x")
        make_older(engine, "ready", "ready_at", wait)
        engine.receive_one()
        after = durations(engine)
        seen.append((after.met, after.missed))

    assert seen == [(1, 0), (1, 1), (1, 2), (2, 2), (3, 2)]


def test_one_query_reads_any_number_of_queues(make_engine: Callable[..., Engine]) -> None:
    ids = [make_engine().queue_id for _ in range(3)]

    with CaptureQueriesContext(connection) as queries:
        found = read_durations(ids)

    assert len(queries) == 1
    assert found == dict.fromkeys(ids, Durations())
