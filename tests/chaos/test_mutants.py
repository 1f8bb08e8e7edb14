"""Every schedule is valid on the engine as it is, and convicts the engines and clients that are wrong on purpose."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.directed import Schedule
from tests.chaos.mutants import MUTANTS
from tests.chaos.run import prepare
from tests.chaos.server import ChaosServer
from tests.chaos.stage import Stage

pytestmark = [pytest.mark.timeout(600), pytest.mark.proof]

SCHEDULES = {mutant.schedule.__name__: mutant.schedule for mutant in MUTANTS.values()}


@pytest.fixture(scope="module")
def server() -> Iterator[ChaosServer]:
    """Server with a late log for asynchronous commits, whose database is a template."""
    with ChaosServer({"wal_writer_delay": "10s", "autovacuum": "off", "fsync": "off"}) as started:
        prepare(started)
        yield started


@pytest.fixture
def make_stage(server: ChaosServer, tmp_path: Path) -> Iterator[Callable[..., Stage]]:
    made: list[Stage] = []

    def _make(*, split_transactions: bool = False) -> Stage:
        name = f"stage_{next(_numbers)}"
        server.clone(name)
        stage = Stage(server, name, tmp_path, split_transactions)
        made.append(stage)
        return stage

    yield _make
    for stage in made:
        stage.close()
        server.drop(stage.database)


_numbers = itertools.count(1)


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_engine_as_it_is_is_not_convicted(name: str, make_stage: Callable[..., Stage]) -> None:
    stage = make_stage()
    SCHEDULES[name](stage)

    verdict = stage.verdict()

    assert verdict.valid, str(verdict)
    assert verdict.figures["attempted"] > 0


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_convicted(name: str, make_stage: Callable[..., Stage]) -> None:
    mutant = MUTANTS[name]
    stage = make_stage(split_transactions=mutant.split_transactions)
    with stage.connect() as connection:
        mutant.install(connection)
    schedule: Schedule = mutant.schedule
    schedule(stage)

    verdict = stage.verdict()

    assert verdict.charges.keys() & mutant.charges, f"not convicted: {verdict}"
