"""Health checks: healthy and unhealthy states."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from metrics.health import Report, judge, report
from metrics.reading.fleet import UPKEEP_STALE_SECONDS, Fleet, Signs, read_fleet
from metrics.reading.fleet import Engine as PostgreSQL
from metrics.reading.snapshot import STALE_SECONDS, State
from queues.control.clock import TOLERATED_SECONDS
from queues.counters.queue_numbers import QueueNumbers
from queues.upkeep.upkeep import Pulse
from tests.engine import Engine
from tests.races.sessions import until

ALIVE = Signs(clock_age_seconds=0.1, last_aggregation_age_seconds=1.0, pending=False, newest_consumer_age_seconds=3.0)


@pytest.fixture
def numbers(engine: Engine, commits: None) -> QueueNumbers:
    """Numbers of an empty queue without consumers."""
    (numbers,) = [numbers for numbers in read_fleet().queues if numbers.name == engine.queue]
    return numbers


def state(*queues: QueueNumbers, signs: Signs = ALIVE, age_seconds: float = 0.0, failing: bool = False) -> State:
    return State(Fleet(list(queues), signs, read_at=0.0, read_seconds=0.0), None, age_seconds, failing)


def problems(report: Report) -> set[str]:
    return {name for name, check in report.checks.items() if not check.ok}


def test_an_idle_installation_is_well(numbers: QueueNumbers) -> None:
    assert judge(state(numbers)).ok
    assert judge(state()).ok


def test_a_reading_that_failed_is_the_database_away(numbers: QueueNumbers) -> None:
    assert problems(judge(state(numbers, failing=True))) == {"database"}


def test_stale_numbers_mean_an_unreachable_database(numbers: QueueNumbers) -> None:
    assert judge(state(numbers, age_seconds=STALE_SECONDS)).ok
    assert problems(judge(state(numbers, age_seconds=STALE_SECONDS + 1))) == {"database"}


def test_a_process_that_has_never_reached_the_database_is_not_well() -> None:
    never = judge(State(None, None, float("inf"), failing=True))

    assert problems(never) == {"database"}
    assert never.as_dict()["checks"]["database"]["numbers_age_seconds"] is None


def test_what_depends_on_the_database_is_not_judged_without_it(numbers: QueueNumbers) -> None:
    assert set(judge(state(numbers, failing=True)).checks) == {"database"}


SILENT = UPKEEP_STALE_SECONDS + 1


@pytest.mark.parametrize(
    ("clock", "aggregation", "pending", "ok"),
    [
        (0.1, 86_400.0, False, True),  # nothing to aggregate for a day
        (SILENT, 1.0, False, True),  # another process aggregates from SQL
        (SILENT, SILENT, False, False),  # manage.py upkeep has died
        (SILENT, SILENT, True, False),
        (None, SILENT, False, True),  # upkeep runs from SQL only, and all is aggregated
        (None, SILENT, True, False),  # no upkeep runs at all
    ],
)
def test_upkeep_is_fresh_when_it_moves_the_clock_or_folds(
    numbers: QueueNumbers, clock: float | None, aggregation: float, pending: bool, ok: bool
) -> None:
    signs = replace(ALIVE, clock_age_seconds=clock, last_aggregation_age_seconds=aggregation, pending=pending)

    assert problems(judge(state(numbers, signs=signs))) == (set() if ok else {"upkeep"})


def test_a_running_upkeep_gives_signs(
    engine: Engine, commits: None, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    engine.send()
    pulse = Pulse(connect())

    def fresh() -> bool:
        pulse.run_due(time.monotonic())
        signs = read_fleet().signs
        return (
            signs.clock_age_seconds is not None
            and signs.clock_age_seconds < UPKEEP_STALE_SECONDS
            and signs.last_aggregation_age_seconds < UPKEEP_STALE_SECONDS
            and not signs.pending
        )

    until(fresh, "signs of a pulse that runs")  # another may still have the lead
    pulse.close()


def test_the_newest_consumer_is_a_sign(engine: Engine, commits: None) -> None:
    engine.receive(consumer="worker-1")

    age = read_fleet().signs.newest_consumer_age_seconds

    assert age is not None
    assert age < 60


def test_messages_without_a_consumer_are_unhealthy(numbers: QueueNumbers) -> None:
    waiting = replace(numbers, ready=5, oldest_ready_age_seconds=61.0)

    found = judge(state(waiting))

    assert problems(found) == {"workers"}
    assert found.as_dict()["checks"]["workers"]["waiting_messages"] == 5


def test_messages_may_wait_as_long_as_a_consumer_may_be_silent(numbers: QueueNumbers) -> None:
    assert judge(state(replace(numbers, ready=5, oldest_ready_age_seconds=59.0))).ok


def test_one_queue_without_consumers_is_an_alert_and_not_ill_health(numbers: QueueNumbers) -> None:
    waiting = replace(numbers, ready=5, oldest_ready_age_seconds=3600.0)

    assert judge(state(waiting, replace(numbers, consumers=1))).ok
    assert judge(state(waiting, replace(numbers, leased=1))).ok  # a consumer that gives no name


def test_paused_and_dead_letter_queues_need_no_consumer(numbers: QueueNumbers) -> None:
    waiting = replace(numbers, ready=5, oldest_ready_age_seconds=3600.0)

    assert judge(state(replace(waiting, paused=True), replace(waiting, is_dead_letter_queue=True))).ok


def test_a_publication_is_well_as_long_as_every_table_has_an_identity(numbers: QueueNumbers) -> None:
    def judged(published: int, unidentified: int) -> Report:
        engine = PostgreSQL(published_tables=published, unidentified_tables=unidentified)
        base = state(numbers)
        assert base.fleet is not None
        return judge(replace(base, fleet=replace(base.fleet, engine=engine)))

    assert judged(150, 0).ok
    assert judged(0, 2).ok  # nothing is refused yet: an alert says so
    assert problems(judged(150, 2)) == {"replication"}
    assert judged(150, 2).as_dict()["checks"]["replication"]["published_tables"] == 150


def test_a_publication_is_counted(engine: Engine, commits: None) -> None:
    assert read_fleet().engine.published_tables == 0
    engine.connection.execute("create publication somebody_elses for all tables")
    engine.connection.execute("create table signalbox.without_identity (n integer)")
    try:
        found = read_fleet().engine
        assert found.published_tables > 100
        assert found.unidentified_tables == 1
    finally:
        engine.connection.execute("drop publication somebody_elses")
        engine.connection.execute("drop table signalbox.without_identity")


def test_a_clock_that_is_ahead_is_not_well_and_no_sign_of_upkeep(numbers: QueueNumbers) -> None:
    assert judge(state(numbers, signs=replace(ALIVE, clock_age_seconds=-TOLERATED_SECONDS))).ok

    found = judge(state(numbers, signs=replace(ALIVE, clock_age_seconds=-3600.0)))
    assert problems(found) == {"clock"}
    assert found.checks["clock"].numbers == {"ahead_seconds": 3600.0}

    silent = replace(ALIVE, clock_age_seconds=-3600.0, last_aggregation_age_seconds=UPKEEP_STALE_SECONDS + 1)
    assert problems(judge(state(numbers, signs=silent))) == {"clock", "upkeep"}


def test_the_report_says_what_was_looked_at(commits: None) -> None:
    answer = report().as_dict()

    assert set(answer) == {"ok", "checks"}
    assert set(answer["checks"]) == {
        "database",
        "writable",
        "upkeep",
        "clock",
        "workers",
        "durability",
        "replication",
    }
    assert answer["checks"]["database"]["ok"] is True
