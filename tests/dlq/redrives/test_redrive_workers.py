"""Redrives by real Celery workers over our own broker, which are also killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from dlq.jobs.models import Job, Redrive
from dlq.redrives import redrives
from dlq.trash import purges
from queues.dead_letters.ids import newest_id
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive
from tests.dlq.processes import PROJECT, environment

WAIT_SECONDS = 150

pytestmark = pytest.mark.timeout(900)

StartWorker = Callable[[], AbstractContextManager["subprocess.Popen[bytes]"]]


@pytest.fixture
def start_worker(dsn: str, tmp_path: Path) -> StartWorker:
    """A worker of the console's, ready; killed with all its children at the end of the block."""

    @contextmanager
    def start() -> Iterator[subprocess.Popen[bytes]]:
        log = tmp_path / f"worker-{time.monotonic_ns()}.log"
        command = [sys.executable, "-m", "celery", "-A", "console", "worker", "--concurrency=1", "--loglevel=INFO"]
        with (
            log.open("wb") as output,
            subprocess.Popen(
                command, cwd=PROJECT, env=environment(dsn), stdout=output, stderr=output, start_new_session=True
            ) as process,
        ):
            try:
                wait_until(lambda: b"ready." in log.read_bytes(), log.read_text)
                yield process
            finally:
                os.killpg(process.pid, signal.SIGKILL)

    return start


def wait_until(happened: Callable[[], bool], explain: Callable[[], str]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not happened():
        assert time.monotonic() < deadline, explain()
        time.sleep(0.05)


def wait_for(job: Job, state: Job.State) -> None:
    def arrived() -> bool:
        job.refresh_from_db()
        return job.state == state

    wait_until(arrived, lambda: f"{job} is {job.state}, not {state}: {job.error}")


@pytest.mark.proof
def test_a_worker_runs_what_is_created_while_it_runs(scene: DeadLetterScene, start_worker: StartWorker) -> None:
    with start_worker():
        buried = scene.add_dead(30)
        redrive = create_redrive(scene.filter, newest_id(), actor="ann", reason="")
        wait_for(redrive, Job.State.DONE)
        cleared = purges.create(
            scene.queue,
            ["ready"],
            purges.preview(scene.queue, ["ready"]).bounds,
            scene.queue,
            actor="ann",
            reason="",
        )
        wait_for(cleared, Job.State.DONE)

    assert (redrive.moved, scene.redriven(redrive.pk)) == (30, buried)
    assert (cleared.purged, scene.ready()) == (30, 0)


@pytest.mark.proof
def test_another_worker_goes_on_when_one_is_killed(scene: DeadLetterScene, start_worker: StartWorker) -> None:
    """The wake-up is lost with the worker, and only the row describes the redrive."""
    buried = scene.add_dead(300)
    redrive = create_redrive(scene.filter, newest_id(), actor="ann", reason="", rate_per_second=5)  # nowhere near done

    with start_worker():
        wait_until(lambda: len(scene.dead()) < 295, lambda: f"{redrive} did not start")
    left = len(scene.dead())
    assert left > 0
    # As if the time of its lease had passed.
    Redrive.objects.filter(pk=redrive.pk).update(lease_expires_at=None)
    redrives.set_rate(redrive.pk, None, actor="ann")
    with start_worker():
        wait_for(redrive, Job.State.DONE)

    assert (redrive.moved, redrive.skipped) == (300, 0)
    assert scene.redriven(redrive.pk) == buried


@pytest.mark.proof
def test_a_worker_records_outcomes(scene: DeadLetterScene, start_worker: StartWorker) -> None:
    scene.add_dead(3)
    redrive = create_redrive(scene.filter, newest_id(), actor="ann", reason="")
    redrives.run_in_foreground(redrive.pk)
    scene.engine.ack(*[row[1] for row in scene.engine.receive(3)])

    def noted() -> bool:
        redrive.refresh_from_db()
        return redrive.succeeded == 3

    with start_worker():
        wait_until(noted, lambda: f"{redrive} has {redrive.succeeded} successes")
