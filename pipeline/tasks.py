"""The Celery tasks: each is the command in a process of its own, in the Spark server that the machine keeps.

A task that is lost is no harm: the next run takes what it would have taken. Nor is one that comes twice: the second
finds the first at work. What a run did is in its row.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

from billiard import current_process
from celery import shared_task

log = logging.getLogger(__name__)

MANAGE = Path(__file__).resolve().parent.parent / "manage.py"


@shared_task(name="pipeline.archive")  # type: ignore[untyped-decorator]
def archive(actor: str = "celery") -> None:
    """Archive what has ended."""
    _command("archive", actor)


@shared_task(name="pipeline.rollup")  # type: ignore[untyped-decorator]
def rollup(actor: str = "celery") -> None:
    """Reckon hours and days of what was archived."""
    _command("rollup", actor)


@shared_task(name="pipeline.analyse")  # type: ignore[untyped-decorator]
def analyse(actor: str = "celery") -> None:
    """Look for what the failures of the archive have in common."""
    _command("analyse", actor)


@shared_task(name="pipeline.replay")  # type: ignore[untyped-decorator]
def replay(arguments: list[str], actor: str = "celery") -> None:
    """Stage what somebody chose from the archive, and make a plan of it."""
    _command("replay", actor, *arguments)


@shared_task(name="pipeline.erase")  # type: ignore[untyped-decorator]
def erase(erasure_id: int) -> None:
    """Do an erasure's part of the archive."""
    _run("erase", str(erasure_id))


def _command(verb: str, actor: str, *more: str) -> None:
    _run(verb, f"--by={actor}", f"--on-server={_worker()}", *more)


def _run(verb: str, *words: str) -> None:
    """In a session of its own, which the system weighs as a whole; it ends with us all the same."""
    command = [sys.executable, str(MANAGE), "pipeline", verb, "--with-input", *words]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(
        command, stdin=pipe, stdout=nowhere, stderr=pipe, text=True, start_new_session=True
    ) as process:
        error = process.stderr.read() if process.stderr else ""  # until it ends, with its input open
    if process.returncode:
        log.warning("pipeline %s ended with %d: %s", verb, process.returncode, _last_line(error))


def _worker() -> int:
    """The worker's main process, with which a server ends that is started for it. Children of a pool come and go."""
    return os.getppid() if current_process().name.startswith("ForkPoolWorker") else os.getpid()


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")
