"""Jobs whose runners die: in processes that are forked for it, so that hundreds die in seconds."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dlq.jobs.models import Job
from tests.dlq.processes import PROJECT, environment

Ask = Callable[..., str]

FIRST_SECONDS = 0.05
LONGER, SHORTER = 1.5, 0.8


@contextmanager
def nursery(dsn: str, script: str = "nursery.py") -> Iterator[Ask]:
    """Start one of this folder's forking processes; return a function that sends it words and reads a line."""
    command = [sys.executable, str(Path(__file__).with_name(script))]
    with subprocess.Popen(
        command, cwd=PROJECT, env=environment(dsn), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == "ready\n"

        def ask(*words: object) -> str:
            process.stdin.write(" ".join(map(str, words)) + "\n")
            process.stdin.flush()
            return process.stdout.readline().rstrip("\n")

        yield ask
        process.kill()


def die_at_any_moment(ask: Ask, job: Job, *, batch: int, kills: int, seed: int) -> None:
    """Let runners of the job die, each some time after its start; some die within their first batch.

    How long a first batch takes depends on the machine: after a death that came too early for one the next may come
    later, and otherwise it comes sooner.
    """
    draw = random.Random(seed)
    most_seconds = FIRST_SECONDS
    for kill in range(1, kills + 1):
        batch_before = job.last_batch_at
        expire_lease(job)
        died_of = int(ask(job.NOUN, job.pk, batch, draw.uniform(0, most_seconds)))
        job.refresh_from_db()
        assert (died_of, job.is_active) == (signal.SIGALRM, True), f"it was over after {kill} kills (seed {seed})"
        most_seconds *= LONGER if job.last_batch_at == batch_before else SHORTER
    assert job.last_batch_at is not None, f"no runner lived for a batch (seed {seed})"


def expire_lease(job: Job) -> None:
    """Expire the last runner's lease; return when the database is done with its session."""
    type(job)._default_manager.filter(pk=job.pk).update(lease_expires_at=None)
