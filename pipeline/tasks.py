"""Celery tasks of the pipeline: each runs `manage.py pipeline` in a process of its own, within a time limit.

A lost task does no harm, because the next run does its work; a task that is delivered twice ends at once when the first
is running. Results are in the rows of the runs.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from billiard import current_process
from celery import shared_task
from django.conf import settings

from pipeline.erasure.models import ArchiveErasure
from pipeline.jobs import starting, time_limits
from pipeline.models import RunRequest

log = logging.getLogger(__name__)

MANAGE = Path(__file__).resolve().parent.parent / "manage.py"


@shared_task(name="pipeline.run")  # type: ignore[untyped-decorator]
def run(request_id: int) -> None:
    """Run what a stored request (`pipeline.jobs.starting`) asks for, once."""
    if starting.waits(request_id):
        # The kept server ends with the worker's main process; the processes of its pool are replaced often.
        worker = os.getppid() if current_process().name.startswith("ForkPoolWorker") else os.getpid()
        kind = RunRequest.objects.get(pk=request_id).kind
        _run(kind, "perform", str(int(request_id)), f"--on-server={worker}")


@shared_task(name="pipeline.archive")  # type: ignore[untyped-decorator]
def archive() -> None:
    """Archive settled messages when ARCHIVE_SCHEDULE is due."""
    _scheduled("archive")


@shared_task(name="pipeline.rollup")  # type: ignore[untyped-decorator]
def rollup() -> None:
    """Make rollups of the archive when ROLLUP_SCHEDULE is due."""
    _scheduled("rollup")


@shared_task(name="pipeline.analyse")  # type: ignore[untyped-decorator]
def analyse() -> None:
    """Analyse the failures of the archive when ANALYSE_SCHEDULE is due."""
    _scheduled("analyse")


@shared_task(name="pipeline.erase")  # type: ignore[untyped-decorator]
def erase(erasure_id: int) -> None:
    """Run an erasure's part of the archive, if it is not finished."""
    if starting.is_id(erasure_id) and ArchiveErasure.objects.filter(pk=erasure_id, finished_at=None).exists():
        _run("", "erase", str(int(erasure_id)))


def _scheduled(kind: str) -> None:
    schedule = settings.PIPELINE_SCHEDULES[kind]
    if schedule is None:
        log.warning("pipeline %s refused: %s_SCHEDULE is set for beat but not for this worker", kind, kind.upper())
    elif (request := starting.make_scheduled(kind, schedule)) is not None:
        run(request.pk)


def _run(kind: str, verb: str, *words: str) -> None:
    """Run a pipeline command in a session of its own, within its time limit; it ends with this process.

    `words` are ids of rows and the id of this process. No text of a message becomes an argument. In a session of its
    own, the command and its children share one part of the CPU time.
    """
    command = [sys.executable, str(MANAGE), "pipeline", verb, "--with-input", *words]
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
        ) as process:
            time_limits.wait(process, kind)  # with its input open
        errors.seek(0)
        error = errors.read().decode(errors="replace")
    if process.returncode:
        log.warning("pipeline %s ended with %d: %s", verb, process.returncode, _last_line(error))


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")
