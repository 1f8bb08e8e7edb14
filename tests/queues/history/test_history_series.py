"""History: recorded numbers equal the events, in every step, by any recorder at any time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from queues import codes
from queues.counters import queue_numbers
from queues.errors import InvalidArgument
from queues.history.series import ALL_QUEUES, EVENTS, STATES, HistoryStep, of_tenant, series
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")

Connect = Callable[..., psycopg.Connection[Any]]


def record(engine: Engine) -> None:
    engine.value("select signalbox.record_history()")


def row_of(engine: Engine, queue_id: int | None = None, table: str = "queue_history") -> dict[str, Any]:
    """A queue's history added up over all its rows, with the depths of the newest."""
    sums = ", ".join(f"coalesce(sum({event}), 0)::bigint" for event in EVENTS)
    last = ", ".join(f"(array_agg({state} order by bucket_at desc))[1]" for state in STATES)
    values = engine.rows(
        f"select {sums}, {last} from signalbox.{table} where queue_id = %s",
        engine.queue_id if queue_id is None else queue_id,
    )[0]
    return dict(zip((*EVENTS, *STATES), values, strict=True))


def a_life(engine: Engine) -> None:
    """Make every counted event happen at least once."""
    engine.die("poison")
    for number in range(4):
        engine.send(number)
    engine.send("later", delay_seconds=600)
    first, second, third = (engine.receive_one()[1] for _ in range(3))
    engine.ack(first)
    engine.nack(second)
    engine.ack(third)
    engine.receive()
    for _ in range(2):
        engine.send("once", deduplication_id="a")


def test_what_is_recorded_is_what_the_counters_say(engine: Engine) -> None:
    record(engine)
    a_life(engine)
    record(engine)
    a_life(engine)
    record(engine)

    (numbers,) = queue_numbers.read_numbers([engine.queue_id])
    found = row_of(engine)

    assert [found[state] for state in STATES] == [getattr(numbers, state) for state in STATES]
    assert {name: found[name] for name in EVENTS if name in numbers.totals} == {
        name: total for name, total in numbers.totals.items() if name in EVENTS
    }
    assert (found["added"], found["removed"]) == (numbers.added_total, numbers.removed_total)
    recounted = engine.recounted()
    assert (found["ready"], found["scheduled"], found["leased"], found["dead"]) == recounted[:4]


def test_a_queue_at_rest_writes_nothing(engine: Engine) -> None:
    engine.send("waits")
    record(engine)
    before = engine.rows("select * from signalbox.queue_history where queue_id = %s", engine.queue_id)

    record(engine)

    assert engine.rows("select * from signalbox.queue_history where queue_id = %s", engine.queue_id) == before


@pytest.mark.parametrize(("seconds", "said"), [(10, [1]), (600, [])], ids=["recorded", "unrecorded"])
def test_what_rested_says_how_it_stood_until_it_moved(engine: Engine, seconds: int, said: list[int]) -> None:
    def folded() -> int:
        engine.value("select signalbox.aggregate_counters()")
        return int(
            engine.value("select max(aggregation_id) from signalbox.queue_stat where queue_id = %s", engine.queue_id)
        )

    engine.send("waits")
    since = folded()
    engine.connection.execute(
        "update signalbox.queue_stat set aggregated_at = aggregated_at - interval '1 hour' where queue_id = %s",
        [engine.queue_id],
    )
    engine.send("comes")
    bucket = datetime.now(UTC).replace(second=0, microsecond=0)
    engine.value("select signalbox._record_since(%s, %s, %s, %s)", bucket, seconds, since, folded())

    rows = engine.rows(
        "select bucket_at, ready, published, totals[1] from signalbox.queue_history where queue_id = %s order by 1",
        engine.queue_id,
    )
    assert rows[-1] == (bucket, 2, 1, 2)
    assert rows[:-1] == [(bucket - timedelta(seconds=10), ready, 0, 1) for ready in said]


def test_the_sums_for_history_are_those_of_the_counters(engine: Engine) -> None:
    """Each event, unrolled for speed, has the weight of counter_event in each of the functions."""
    events = engine.rows("select event from signalbox.counter_event order by event")
    totals = [0] * codes.event_count()
    for (event,) in events:
        totals[event - 1] = 7 ** (event % 5) * 1000 + event
    [depths] = engine.rows("select * from signalbox._depths_of(%s)", totals)
    [happened] = engine.rows("select * from signalbox._totals_of(%s)", totals)

    assert list(depths) == [queue_numbers._sum(totals, state) for state in codes.STATES]
    assert list(depths) == [engine.value("select signalbox.depth(%s, %s)", totals, state) for state in codes.STATES]
    assert list(happened) == [queue_numbers._sum(totals, name) for name in EVENTS if name != "refused"]


def test_one_who_records_at_the_same_time_does_nothing(engine: Engine, connect: Connect) -> None:
    engine.send("x")
    busy = connect()
    busy.execute("begin")
    busy.execute("select signalbox.record_history()")

    assert engine.value("select signalbox.record_history()") is None

    busy.execute("commit")
    record(engine)
    assert row_of(engine)["published"] == 1


# A stretch long ago that no other test and no upkeep writes to.
LONG_AGO = datetime(2021, 3, 4, 12, tzinfo=UTC)


class Recorded:
    """History written as upkeep would have, at moments of the test's choosing."""

    def __init__(self, engine: Engine, start: datetime) -> None:
        self.engine, self.start, self.fold = engine, start, 1

    def __call__(self, at_seconds: int, *, seconds: int = 10, table: str = "queue_history", **values: Any) -> None:
        at = self.start + timedelta(seconds=at_seconds)
        step = {"queue_history": 10, "queue_history_minute": 60, "queue_history_ten_minutes": 600}[table]
        self.engine.rows(
            "insert into signalbox.history_record values (%s, %s, %s, 0)"
            " on conflict (step_seconds, bucket_at) do update set seconds = excluded.seconds returning 1",
            step,
            at,
            seconds,
        )
        if not values:
            return
        row = dict.fromkeys((*STATES, *EVENTS), 0) | {
            "queue_id": self.engine.queue_id,
            "bucket_at": at,
            "seconds": seconds,
        }
        row |= values
        self.engine.rows(
            f"insert into signalbox.{table} ({', '.join(row)}) values ({', '.join(['%s'] * len(row))}) returning 1",
            *row.values(),
        )

    def read(self, end_seconds: int, step_seconds: int = 10) -> list[HistoryStep]:
        end = self.start + timedelta(seconds=end_seconds)
        return series([self.engine.queue_id], self.start, end, step_seconds)[self.engine.queue_id]


@pytest.fixture
def recorded(engine: Engine) -> Any:
    """Empty history within the test; its changes are rolled back."""
    tables = ("queue_history", "queue_history_minute", "queue_history_ten_minutes", "history_record")

    def clear() -> None:
        for table in tables:
            engine.connection.execute(f"delete from signalbox.{table} where bucket_at < '2022-01-01'")

    clear()
    yield Recorded(engine, LONG_AGO)
    clear()


def test_a_queue_at_rest_stands_where_it_stood(recorded: Recorded) -> None:
    oldest = LONG_AGO - timedelta(seconds=5)
    recorded(0, ready=3, published=20, oldest_visible_at=oldest, oldest_ready_age_seconds=9.0)
    recorded(10)
    recorded(20)

    first, *rest = recorded.read(30)

    assert first.depths is not None
    assert first.depths["ready"] == 3
    assert first.rates is not None
    assert first.rates["published"] == 2.0
    assert [step.depths["ready"] for step in rest if step.depths] == [3, 3]
    assert [step.rates["published"] for step in rest if step.rates] == [0.0, 0.0]
    assert [step.oldest_age_seconds for step in rest] == [25.0, 35.0]


def test_a_gap_is_a_gap_and_its_rates_are_the_mean(recorded: Recorded) -> None:
    recorded(0, ready=5)
    recorded(100, seconds=100, ready=2, acked=200)

    steps = recorded.read(130)

    assert [step.depths and step.depths["ready"] for step in steps] == [5, *[None] * 9, 2, None, None]
    assert [step.rates and step.rates["acked"] for step in steps] == [0.0, *[2.0] * 10, None, None]


def test_a_bucket_that_a_busy_upkeep_passed_by_is_no_gap(recorded: Recorded) -> None:
    recorded(0, ready=5)
    recorded(20, seconds=20, ready=2, acked=40)

    steps = recorded.read(30)

    assert [step.depths and step.depths["ready"] for step in steps] == [5, 5, 2]
    assert [step.rates and step.rates["acked"] for step in steps] == [0.0, 2.0, 2.0]


def test_steps_are_as_coarse_as_asked_for(recorded: Recorded) -> None:
    for at in range(0, 60, 10):
        recorded(at, ready=at, ready_highest=at + 5, published=10, waits=[at, *[0] * 14])

    first, second = recorded.read(60, 30)

    assert first.depths is not None
    assert first.highest is not None
    assert first.rates is not None
    assert (first.depths["ready"], first.highest["ready"], first.rates["published"]) == (20, 25, 1.0)
    assert list(second.waits) == [120, *[0] * 14]


def test_too_many_points_are_refused(engine: Engine) -> None:
    with pytest.raises(InvalidArgument, match="at most 360") as caught:
        series([engine.queue_id], LONG_AGO, LONG_AGO + timedelta(days=1), 60)

    assert caught.value.field == "step_seconds"


@pytest.mark.parametrize("step", [0, 15, -10])
def test_a_step_is_a_multiple_of_what_is_kept(engine: Engine, step: int) -> None:
    with pytest.raises(InvalidArgument, match="multiple of ten"):
        series([engine.queue_id], LONG_AGO, LONG_AGO + timedelta(minutes=1), step)


def test_tenants_and_all_queues_are_sums(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine()
    tenant = f"tenant of {engine.queue}"
    queues = []
    for name in ("a", "b"):
        queue = f"{engine.queue}-{name}"
        queues.append(
            Engine(engine.connection, queue, engine.value("select signalbox.create_queue(%s, '{}', %s)", queue, tenant))
        )
    tenant_id = of_tenant(engine.value("select tenant_id from signalbox.tenant where name = %s", tenant))
    queues[0].send("x")
    record(engine)
    before = row_of(engine, ALL_QUEUES)["ready"]  # other tests have left queues, some with wrong counters on purpose
    queues[1].die("z")
    queues[1].send("y")
    record(engine)

    found = row_of(engine, tenant_id)

    assert (found["ready"], found["dead"], found["published"], found["dead_lettered"]) == (2, 1, 3, 1)
    assert row_of(engine, ALL_QUEUES)["ready"] == before + 1


def test_one_read_is_three_queries_however_many_queues(make_engine: Callable[..., Engine]) -> None:
    engines = [make_engine() for _ in range(3)]
    end = datetime.now(UTC)
    for asked in (engines[:1], engines):
        with CaptureQueriesContext(connection) as queries:
            series([engine.queue_id for engine in asked], end - timedelta(hours=1), end, 60)
        assert len(queries) == 3


def test_a_minute_is_made_of_its_buckets(recorded: Recorded) -> None:
    engine = recorded.engine
    for at in range(0, 120, 10):
        recorded(at, ready=at, ready_highest=at + 1, acked=2, seconds=10, work=[1, *[0] * 14])

    while engine.value("select signalbox._roll_up_history(10)") == 60:
        pass

    rows = engine.rows(
        "select bucket_at, seconds, ready, ready_highest, acked, work[1] from signalbox.queue_history_minute"
        " where queue_id = %s order by bucket_at",
        engine.queue_id,
    )
    assert rows == [(LONG_AGO, 60, 50, 51, 12, 6), (LONG_AGO + timedelta(minutes=1), 60, 110, 111, 12, 6)]
