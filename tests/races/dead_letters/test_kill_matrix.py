"""Redrive, replay, deletion and purge killed at every statement of a batch: worker, backend, server, or by sleep.

Nothing is lost, nothing happens twice, counters are exact. Steps that are wrong on purpose do not pass the same check.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from dlq.jobs import lifecycle, runner
from queues.database.embedded import EmbeddedPostgres
from tests.dlq.dead_letter_scenes import DeadLetterScene, make_dead_letter_scene, scene
from tests.dlq.processes import PROJECT
from tests.races.dead_letters import kill_matrix
from tests.races.dead_letters.deaths import nursery
from tests.races.dead_letters.kill_matrix import CASES, Case

__all__ = ["make_dead_letter_scene", "scene"]

# A hundred deaths, on a machine that may be busy.
pytestmark = [pytest.mark.timeout(600), pytest.mark.proof]

MakeDeadLetterScene = Callable[..., DeadLetterScene]
Kill = Callable[[Case, int], None]
PATIENCE_SECONDS = 120.0


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch, commits: None) -> None:
    kill_matrix.install_watch(monkeypatch.setattr)
    kill_matrix.small_batches(monkeypatch.setattr)


def statements_of(kind: str, make_dead_letter_scene: MakeDeadLetterScene) -> int:
    """Trace of one batch without a kill; a naive runner passes too, as long as nothing dies."""
    statements = kill_matrix.statements_of(CASES[kind](make_dead_letter_scene()))
    assert statements > 5
    return statements


def die_everywhere(kind: str, make_dead_letter_scene: MakeDeadLetterScene, kill: Kill, statements: int) -> None:
    """A job of its own for each statement, killed there, finished and looked at."""
    for number in range(1, statements + 2):
        case = CASES[kind](make_dead_letter_scene())
        kill(case, number)
        case.finish()


@pytest.fixture
def kill_backend(connect: Callable[..., psycopg.Connection[Any]]) -> Kill:
    """The backend is terminated, and the worker lives to see it."""
    executioner = connect()

    def kill(case: Case, number: int) -> None:
        def terminate() -> None:
            pid = connection.connection.info.backend_pid
            executioner.execute("select pg_terminate_backend(%s, 60000)", [pid])

        with suppress(*runner.PASSING), kill_matrix.before_statement(number, terminate):
            case.run_slice()
        connection.close()

    return kill


@pytest.fixture
def kill_worker(dsn: str) -> Iterator[Kill]:
    """The process that runs the batch is killed, and its backend finds no client."""
    with nursery(dsn, "kill_nursery.py") as ask:

        def kill(case: Case, number: int) -> None:
            assert ask(case.job.NOUN, case.job.pk, number) in ("killed", "ended")

        yield kill


@pytest.fixture
def oversleep(connect: Callable[..., psycopg.Connection[Any]]) -> Kill:
    """The runner sleeps through its lease; another takes over, and then the sleeper wakes."""
    observer = connect()

    def kill(case: Case, number: int) -> None:
        asleep, awake, pids = threading.Event(), threading.Event(), []

        def sleep() -> None:
            asleep.set()
            assert awake.wait(PATIENCE_SECONDS)

        def run() -> None:
            try:
                with kill_matrix.before_statement(number, sleep):
                    case.run_slice()
            finally:
                asleep.set()
                connection.close()

        def inherit() -> None:
            try:
                connection.ensure_connection()
                pids.append(connection.connection.info.backend_pid)
                case.work.model._default_manager.filter(pk=case.job.pk).update(lease_expires_at=None)
                case.work.run_in_foreground(case.job.pk)
            finally:
                connection.close()

        sleeper, heir = threading.Thread(target=run), threading.Thread(target=inherit)
        sleeper.start()
        assert asleep.wait(PATIENCE_SECONDS)
        heir.start()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while heir.is_alive() and not (pids and is_waiting(observer, pids[0])):
            assert time.monotonic() < deadline, "the heir neither ended nor waited"
            time.sleep(0.005)
        awake.set()
        sleeper.join(PATIENCE_SECONDS)
        heir.join(PATIENCE_SECONDS)
        assert not sleeper.is_alive()
        assert not heir.is_alive()

    return kill


def is_waiting(observer: psycopg.Connection[Any], pid: int) -> bool:
    row = observer.execute("select cardinality(pg_blocking_pids(%s)) > 0", [pid]).fetchone()
    return bool(row and row[0])


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("killer", ["kill_worker", "kill_backend", "oversleep"])
def test_a_job_survives_its_death_at_every_statement(
    kind: str, killer: str, make_dead_letter_scene: MakeDeadLetterScene, request: pytest.FixtureRequest
) -> None:
    die_everywhere(
        kind, make_dead_letter_scene, request.getfixturevalue(killer), statements_of(kind, make_dead_letter_scene)
    )


def test_jobs_survive_the_end_of_their_server_at_every_statement(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("home")
    inherited = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    command = [sys.executable, str(Path(__file__).with_name("kill_server.py"))]
    try:
        ended = subprocess.run(
            command,
            cwd=PROJECT,
            env={**inherited, "SIGNALBOX_HOME": str(home), "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
        )
    finally:
        EmbeddedPostgres(home).stop()

    assert ended.returncode == 0, ended.stderr
    assert len(ended.stdout.splitlines()) > 6


@pytest.mark.parametrize("kind", CASES)
def test_separate_commits_would_be_caught(
    kind: str, make_dead_letter_scene: MakeDeadLetterScene, kill_backend: Kill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_batch", kill_matrix.commit_separately)
    statements = statements_of(kind, make_dead_letter_scene)

    with pytest.raises(AssertionError):
        die_everywhere(kind, make_dead_letter_scene, kill_backend, statements)


def test_a_cursor_before_its_messages_would_be_caught(
    make_dead_letter_scene: MakeDeadLetterScene, kill_backend: Kill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_batch", kill_matrix.put_the_cursor_first)
    statements = statements_of("redrive", make_dead_letter_scene)

    with pytest.raises(AssertionError):
        die_everywhere("redrive", make_dead_letter_scene, kill_backend, statements)


@pytest.mark.parametrize("kind", CASES)
def test_a_step_without_the_lock_of_its_row_would_be_caught(
    kind: str, make_dead_letter_scene: MakeDeadLetterScene, oversleep: Kill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "hold", kill_matrix.hold_without_a_lock)
    statements = statements_of(kind, make_dead_letter_scene)

    with pytest.raises(AssertionError):
        die_everywhere(kind, make_dead_letter_scene, oversleep, statements)
