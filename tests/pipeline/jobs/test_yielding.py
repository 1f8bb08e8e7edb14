"""Tasks of an archive run rest while other sessions work in the database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pipeline.archive import extracting, yielding
from pipeline.archive.extracting import Job, Written, write_part
from pipeline.archive.parts import Part
from queues.database.connections import UPKEEP
from tests.engine import Engine
from tests.pipeline.conftest import Archive, settle
from tests.races.sessions import until


class Day:
    """Clock that advances on command."""

    def __init__(self) -> None:
        self.now = 0.0
        self.rests: list[float] = []

    def rest(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.now += seconds


def worked(day: Day, seconds: list[float], others: list[bool]) -> list[int]:
    """Items of which each takes so long, half of it to make and half to use, while others are at work or are not."""
    at_work = iter(others)

    def made() -> Any:
        for number, taken in enumerate(seconds):
            day.now += taken / 2
            yield number

    used = []
    for number in yielding.yielding(made(), lambda: next(at_work), day.rest, lambda: day.now):
        day.now += seconds[number] / 2
        used.append(number)
    return used


def test_it_rests_in_proportion_to_its_work_and_to_nothing_else() -> None:
    day = Day()

    assert worked(day, [1.0, 2.0, 4.0], [True, False, True]) == [0, 1, 2]

    assert day.rests == [yielding.RESTS * 1.0, yielding.RESTS * 4.0]


def test_the_rests_of_a_part_come_to_an_end() -> None:
    day = Day()
    slow = yielding.MAX_SECONDS * 0.6 / yielding.RESTS

    assert worked(day, [slow, slow, slow], [True] * 3) == [0, 1, 2]

    assert sum(day.rests) == pytest.approx(yielding.MAX_SECONDS)
    assert len(day.rests) == 2


def test_others_at_work_are_seen_and_who_takes_nothing_from_them_is_not(
    dsn: str, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    """Sessions of the archive and of upkeep, sessions of other databases, and sessions that wait for a lock."""
    works, waits = "select pg_sleep(600)", "select pg_advisory_lock(5544332211)"
    elsewhere = psycopg.connect(make_conninfo(dsn, dbname="postgres"), autocommit=True)
    sessions = {
        "a worker": (connect(), works),
        f"{yielding.APPLICATION} settled": (connect(), works),
        f"{UPKEEP} pulse": (connect(), works),
        "another product": (elsewhere, works),
        "one that waits": (connect(), waits),
    }
    looker = connect()
    looker.execute(waits)
    with yielding.others_at_work(dsn) as others, ThreadPoolExecutor(len(sessions)) as threads:
        for name, (connection, statement) in sessions.items():
            connection.execute("select set_config('application_name', %s, false)", [name])
            threads.submit(connection.execute, statement)
        try:
            seen = "select count(*) from pg_stat_activity where application_name = any(%s) and wait_event is not null"
            until(
                lambda: looker.execute(f"{seen} and state = 'active'", [[*sessions]]).fetchone() == (len(sessions),),
                "all statements",
            )

            assert {*sessions} & {*others()} == {"a worker"}
        finally:
            for connection, _ in sessions.values():
                looker.execute("select pg_terminate_backend(%s)", [connection.info.backend_pid])


@pytest.mark.proof
@pytest.mark.parametrize("yields", [True, False])
def test_a_part_looks_for_others_where_its_run_is_to_stand_back(
    archive: Archive, engine: Engine, monkeypatch: pytest.MonkeyPatch, yields: bool
) -> None:
    looks: list[str] = []
    monkeypatch.setattr(extracting, "others_at_work", lambda dsn: nullcontext(lambda: looks.append(dsn)))
    sent = settle(engine, 20)

    def work(job: Job, parts: Sequence[Part]) -> list[Written]:
        return [file for part in parts for file in write_part(replace(job, yields=yields), part)]

    archive.run(work)

    assert archive.ids("settled", engine) == sent
    assert bool(looks) is yields
