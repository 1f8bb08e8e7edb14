"""Recording history: counted once through gaps, crashes, deletions and upgrades, and dropped when its time is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from queues.history.series import BEFORE, ROWS, series
from tests.engine import Engine

pytestmark = pytest.mark.usefixtures("commits")

Connect = Callable[..., psycopg.Connection[Any]]
GAP_SECONDS = 1_200


def eventually(check: Callable[[], bool], seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def record(engine: Engine) -> None:
    engine.value("select signalbox.record_history()")


def published(engine: Engine) -> list[int]:
    rows = engine.rows(
        "select published from signalbox.queue_history where queue_id = %s order by bucket_at", engine.queue_id
    )
    return [row[0] for row in rows]


def let_time_pass(engine: Engine) -> None:
    """Move the last record and the creation of this queue back, without records since."""
    gap = timedelta(seconds=GAP_SECONDS)
    engine.connection.execute(
        "delete from signalbox.history_record r where r.step_seconds = 10 and r.aggregation_id < ("
        " select max(aggregation_id) from signalbox.history_record)"
    )
    for statement in (
        "update signalbox.history_record set bucket_at = bucket_at - %s where step_seconds = 10",
        "update signalbox.queue_history set bucket_at = bucket_at - %s where queue_id = %s",
        "update signalbox.queue set created_at = created_at - %s where queue_id = %s",
    ):
        engine.connection.execute(statement, [gap, engine.queue_id][: statement.count("%s")])


def test_counts_of_an_unrecorded_time_are_spread_over_the_gap(engine: Engine) -> None:
    engine.send(1)
    record(engine)
    let_time_pass(engine)
    for number in range(3):
        engine.send(number)

    record(engine)

    first, last = engine.rows(
        "select bucket_at, seconds, ready, published from signalbox.queue_history where queue_id = %s order by 1",
        engine.queue_id,
    )
    assert (first[2], last[2], last[3]) == (1, 4, 3)
    assert last[1] >= GAP_SECONDS
    steps = series([engine.queue_id], first[0], last[0] + timedelta(seconds=10), 10)[engine.queue_id]
    depths = [step.depths and step.depths["ready"] for step in steps]
    assert depths == [1, *[None] * (len(steps) - 2), 4]
    rates = [step.rates["published"] for step in steps[1:] if step.rates]
    assert rates == pytest.approx([3 / last[1]] * (len(steps) - 1))


def test_a_crash_while_recording_counts_nothing_twice(engine: Engine, connect: Connect) -> None:
    engine.send(1)
    dying = connect(autocommit=False)
    dying.execute("select signalbox.record_history()")
    dying.rollback()

    record(engine)
    record(engine)

    assert sum(published(engine)) == 1


def test_clearing_away_leaves_what_history_counts_on_from(engine: Engine) -> None:
    engine.send(1)
    record(engine)
    engine.send(2)
    engine.value("select signalbox.aggregate_counters()")
    engine.rows(
        (
            "update signalbox.queue_stat set aggregated_at = aggregated_at - interval '1 hour'"
            " where queue_id = %s returning 1"
        ),
        engine.queue_id,
    )

    engine.value("select signalbox.clean_up()")
    record(engine)

    assert sum(published(engine)) == 2


def test_a_queue_that_is_deleted_leaves_its_past(engine: Engine) -> None:
    engine.send(1)
    record(engine)
    at: datetime = engine.value(
        "select max(bucket_at) from signalbox.queue_history where queue_id = %s", engine.queue_id
    )

    engine.rows("delete from signalbox.queue where queue_id = %s returning 1", engine.queue_id)
    record(engine)

    (step,) = series([engine.queue_id], at, at + timedelta(seconds=10), 10)[engine.queue_id]
    assert step.depths is not None
    assert step.depths["ready"] == 1


def test_refused_sends_are_counted(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(max_backlog_messages=1)
    engine.send(1)
    engine.value("select signalbox.estimate_sizes()")
    record(engine)
    for _ in range(3):
        with pytest.raises(psycopg.Error):
            engine.send(2)
    engine.value("select signalbox.estimate_sizes()")

    record(engine)
    record(engine)

    assert engine.value("select sum(refused) from signalbox.queue_history where queue_id = %s", engine.queue_id) == 3


def test_waits_and_work_are_the_difference_of_two_readings(engine: Engine) -> None:
    def read(*durations: int) -> None:
        engine.send("x")
        engine.value("select signalbox.aggregate_counters()")
        engine.rows(
            "update signalbox.queue_stat set durations = %s where queue_id = %s and aggregation_id = ("
            " select max(aggregation_id) from signalbox.queue_stat where queue_id = %s) returning 1",
            [*durations, *[0] * (33 - len(durations))],
            engine.queue_id,
            engine.queue_id,
        )
        record(engine)

    read(1, 2, *[0] * 13, 5)
    read(1, 6, *[0] * 13, 7)

    assert engine.rows(
        "select (array_agg(waits[1]))[1], sum(waits[1]), sum(waits[2]), sum(work[1])"
        " from signalbox.queue_history where queue_id = %s",
        engine.queue_id,
    ) == [(1, 1, 6, 7)]


OLD = "2020-02-01 10:00Z"


@pytest.fixture
def old_part(engine: Engine) -> Any:
    """An hour of 2020 with something that no minute has yet."""
    engine.value("select signalbox._ensure_period('queue_history', %s, '2020-02-01 11:00Z', 'YYYYMMDDHH24')", OLD)
    engine.rows(
        "insert into signalbox.queue_history (queue_id, bucket_at, seconds, ready, scheduled, leased, dead, removed,"
        " published, delivered, acked, nacked, dead_lettered)"
        " values (%s, %s, 10, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0) returning 1",
        engine.queue_id,
        OLD,
    )
    engine.rows("insert into signalbox.history_record values (10, %s, 10, 0) returning 1", OLD)
    yield "queue_history_2020020110"
    engine.connection.execute("drop table if exists signalbox.queue_history_2020020110")
    engine.connection.execute("delete from signalbox.history_record where bucket_at < '2021-01-01'")


def test_what_is_not_added_up_is_not_dropped(engine: Engine, old_part: str) -> None:
    unneeded = "select %s in (select name from signalbox._unneeded_history())"
    assert not engine.value(unneeded, old_part)

    while engine.value("select signalbox._roll_up_history(10)") == 60:
        pass

    assert engine.value(unneeded, old_part)
    assert engine.rows(
        "select ready from signalbox.queue_history_minute where queue_id = %s and bucket_at = %s", engine.queue_id, OLD
    ) == [(7,)]


def test_parts_of_history_are_dropped_whole(engine: Engine, old_part: str) -> None:
    while engine.value("select signalbox._roll_up_history(10)") == 60:
        pass
    engine.value("select signalbox.ensure_partitions()")
    now = engine.value("select to_char(clock_timestamp() at time zone 'UTC', 'YYYYMMDDHH24')")
    dropped: set[str] = set()

    def is_gone() -> bool:
        dropped.update(engine.value("select signalbox.drop_history()"))
        return old_part in dropped

    eventually(is_gone)  # it is left alone as long as anybody, such as a vacuum, is at it
    assert f"queue_history_{now}" not in dropped


def test_reading_history_never_reads_that_of_others(engine: Engine) -> None:
    """Rows of three hundred queues are read by the primary key, and of the requested step only."""
    with engine.connection.transaction(force_rollback=True):
        engine.connection.execute(
            "insert into signalbox.queue_history (queue_id, bucket_at, seconds, ready, scheduled, leased, dead,"
            " removed, published, delivered, acked, nacked, dead_lettered)"
            " select q, date_bin('10 s', now(), '2000-01-01') - n * interval '10 s', 10, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0"
            " from generate_series(2000000, 2000300) q, generate_series(0, 200) n"
        )
        engine.connection.execute("analyze signalbox.queue_history")
        parts = "select relname from pg_class where relname like 'queue_history%%' and relkind = 'r' and reltuples > %s"
        large = [row[0] for row in engine.rows(parts, 3_000)]
        assert large
        end = engine.value("select now()")
        parameters = {"ids": [2_000_007], "start": end - timedelta(hours=1), "end": end, "step": 30, "kept": 10}
        for statement in (ROWS, BEFORE):
            plan = "\n".join(
                row[0] for row in psycopg.ClientCursor(engine.connection).execute("explain " + statement, parameters)
            )
            assert not [part for part in large if f"Seq Scan on {part}" in plan], plan
            assert statement is BEFORE or "queue_history_minute" not in plan, plan
