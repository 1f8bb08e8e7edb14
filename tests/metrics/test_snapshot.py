"""Shared readings of the database, and the pages without a reading."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from django.db import OperationalError

from metrics.exposition.pages import CONTENT_TYPE, Pages
from metrics.reading.fleet import Fleet, read_fleet
from metrics.reading.snapshot import (
    IDLE_SECONDS,
    RECENT_SECONDS,
    REFRESH_SECONDS,
    STALE_SECONDS,
    Snapshot,
    fleet_page,
    queue_page,
)
from tests.engine import Engine
from tests.metrics.conftest import PATIENCE_SECONDS
from tests.metrics.exposition import Exposition


@dataclass
class Clock:
    """Monotonic seconds that pass when a test says so."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Database:
    """The real one, which a test can take away; counts how often it was read."""

    away: bool = False
    readings: int = 0

    def __call__(self) -> Fleet:
        self.readings += 1
        if self.away:
            raise OperationalError("connection refused")
        return read_fleet()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def database(commits: None) -> Database:
    return Database()


@pytest.fixture
def snapshot(clock: Clock, database: Database) -> Snapshot:
    return Snapshot(database, clock, wait_seconds=PATIENCE_SECONDS)


def answers(snapshot: Snapshot) -> Pages:
    return snapshot.current().answers()


def scraped(snapshot: Snapshot) -> Exposition:
    return Exposition.parse(answers(snapshot).queues.plain)


def test_scrapes_within_five_seconds_share_one_reading(
    engine: Engine, snapshot: Snapshot, clock: Clock, database: Database
) -> None:
    first = answers(snapshot)
    engine.send()
    clock.now += REFRESH_SECONDS - 0.1
    assert answers(snapshot) is first

    clock.now += 0.1
    snapshot.current()
    snapshot.rest()
    assert scraped(snapshot).value("queue_messages", queue=engine.queue, state="ready") == 1
    assert database.readings == 2


def test_recent_numbers_are_given_at_once_while_they_are_renewed(clock: Clock, commits: None) -> None:
    """A database that hangs, or another replica's turn, delays no request that can get numbers."""
    go_on = threading.Event()
    go_on.set()

    def read() -> Fleet:
        assert go_on.wait(PATIENCE_SECONDS)
        return read_fleet()

    snapshot = Snapshot(read, clock, wait_seconds=PATIENCE_SECONDS)
    first = answers(snapshot)
    go_on.clear()
    clock.now += RECENT_SECONDS

    assert answers(snapshot) is first

    go_on.set()
    snapshot.rest()
    assert answers(snapshot) is not first


def test_numbers_that_are_not_recent_are_waited_for(engine: Engine, snapshot: Snapshot, clock: Clock) -> None:
    snapshot.current()
    engine.send()
    clock.now += RECENT_SECONDS + 1

    assert scraped(snapshot).value("queue_messages", queue=engine.queue, state="ready") == 1


def test_numbers_are_refreshed_in_the_background_while_requests_arrive(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metrics.reading.snapshot.REFRESH_SECONDS", 0.001)
    clock = Clock()
    snapshot = Snapshot(database, time.monotonic, wait_seconds=PATIENCE_SECONDS)
    snapshot.keeps_fresh = True
    snapshot.current()
    for _ in until(lambda: database.readings >= 5):
        pass

    snapshot._clock = clock
    clock.now += time.monotonic() + IDLE_SECONDS
    background = snapshot._background
    assert background is not None
    background.join(PATIENCE_SECONDS)
    assert not background.is_alive()  # no request for a long time
    snapshot.rest()


def test_the_background_refresh_can_be_stopped(database: Database) -> None:
    snapshot = Snapshot(database, time.monotonic, wait_seconds=PATIENCE_SECONDS)
    snapshot.keeps_fresh = True
    snapshot.current()

    snapshot.rest()

    assert snapshot._background is not None
    assert not snapshot._background.is_alive()


def test_scrapes_at_the_same_time_share_one_reading(clock: Clock, commits: None) -> None:
    readings: list[int] = []
    all_scrapes_wait = threading.Event()

    def read() -> Fleet:
        readings.append(1)
        all_scrapes_wait.wait(PATIENCE_SECONDS)
        return read_fleet()

    snapshot = Snapshot(read, clock)
    scrapes = [threading.Thread(target=snapshot.current) for _ in range(8)]
    for scrape in scrapes:
        scrape.start()
    all_scrapes_wait.set()
    for scrape in scrapes:
        scrape.join()

    assert len(readings) == 1


def test_a_database_that_is_away_for_a_moment_changes_nothing(
    engine: Engine, snapshot: Snapshot, clock: Clock, database: Database
) -> None:
    before = answers(snapshot)
    database.away = True
    clock.now += STALE_SECONDS

    assert answers(snapshot) is before


def test_stale_numbers_are_dropped_and_said_to_be_missing(
    engine: Engine, snapshot: Snapshot, clock: Clock, database: Database
) -> None:
    read_at = scraped(snapshot).value("exporter_last_refresh_timestamp_seconds")
    database.away = True
    clock.now += STALE_SECONDS + 1

    exposition = scraped(snapshot)

    assert exposition.value("exporter_up") == 0
    assert exposition.value("exporter_last_refresh_timestamp_seconds") == read_at
    assert {name for name, _ in exposition.samples} == {
        "signalbox_exporter_up",
        "signalbox_exporter_last_refresh_timestamp_seconds",
        "signalbox_exporter_refresh_duration_seconds",
    }


def test_numbers_return_with_the_database(engine: Engine, snapshot: Snapshot, clock: Clock, database: Database) -> None:
    database.away = True
    assert scraped(snapshot).value("exporter_up") == 0
    database.away = False
    clock.now += REFRESH_SECONDS

    exposition = scraped(snapshot)

    assert exposition.value("exporter_up") == 1
    assert exposition.value("queue_messages", queue=engine.queue, state="ready") == 0


def test_a_database_that_is_away_is_asked_no_more_often(snapshot: Snapshot, clock: Clock, database: Database) -> None:
    database.away = True
    for _ in range(3):
        snapshot.current()

    assert database.readings == 1


def test_an_outage_is_logged_once(
    snapshot: Snapshot, clock: Clock, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    database.away = True
    for _ in range(3):
        snapshot.current()
        clock.now += REFRESH_SECONDS

    assert len([record for record in caplog.records if record.name == "metrics.reading.snapshot"]) == 1


def test_a_database_that_hangs_delays_one_scrape_and_no_other(clock: Clock) -> None:
    hanging = threading.Event()

    def hang() -> Fleet:
        hanging.wait(PATIENCE_SECONDS)
        raise OperationalError

    snapshot = Snapshot(hang, clock, wait_seconds=0.01)
    assert scraped(snapshot).value("exporter_up") == 0

    clock.now += 3600
    assert scraped(snapshot).value("exporter_up") == 0  # while the first reading still hangs
    hanging.set()


def test_a_reading_leaves_no_connection_behind(
    dsn: str, connect: Callable[..., psycopg.Connection[Any]], snapshot: Snapshot, clock: Clock
) -> None:
    observer = connect()

    def others() -> int:
        row = observer.execute(
            "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            " and backend_type = 'client backend'"
        ).fetchone()
        assert row is not None
        return int(row[0])

    before = others()
    for _ in range(3):
        clock.now += REFRESH_SECONDS
        snapshot.current()

    for _ in until(lambda: others() <= before):
        pass


def test_the_process_exports_its_own_snapshot(engine: Engine, commits: None) -> None:
    assert Exposition.parse(fleet_page().plain).value("exporter_up") == 1
    assert Exposition.parse(queue_page().plain).value("queue_messages", queue=engine.queue, state="ready") == 0
    assert CONTENT_TYPE.startswith("text/plain; version=0.0.4")


def until(condition: Callable[[], bool], timeout_seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Yield until the condition holds; fail the test after the time limit."""
    give_up_at = time.monotonic() + timeout_seconds
    while not condition():
        assert time.monotonic() < give_up_at
        yield
        time.sleep(0.02)
