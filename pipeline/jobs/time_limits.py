"""Time limits of pipeline runs: after the first a worker cancels the run, after the second it kills the process.

Celery's own limits end only processes of its prefork pool; a worker of threads, as in the units, has none of these.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

from django.conf import settings
from django.db.models import QuerySet

from pipeline.errors import PipelineError
from pipeline.jobs import runs, starting
from pipeline.models import Run

ACTOR = "signalbox"
CLEANED_BY_NEXT_RUN = (Run.Kind.ARCHIVE, Run.Kind.REPLAY)
"""Kinds whose killed run leaves files or staged messages: the next run of the kind removes them and ends the row."""


def wait(process: subprocess.Popen[bytes], kind: str = "") -> None:
    """Wait for the end of a run's process. A process without a `kind` has no run that could be cancelled."""
    if _ends_within(process, settings.PIPELINE_TIME_LIMIT_SECONDS or None):
        return
    _cancel(process, kind)
    if _ends_within(process, settings.PIPELINE_KILL_SECONDS):
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    _note_kill(kind)


def _ends_within(process: subprocess.Popen[bytes], seconds: float | None) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _cancel(process: subprocess.Popen[bytes], kind: str) -> None:
    """Cancel the run, which then removes what it has written; a process without a run is terminated."""
    limit = f"The run took longer than {settings.PIPELINE_TIME_LIMIT_SECONDS:,} s (PIPELINE_TIME_LIMIT_SECONDS)."
    run = _running(kind).first()
    if run is None:
        process.terminate()
    else:
        starting.cancel(run.pk, actor=ACTOR, reason=limit)


def _note_kill(kind: str) -> None:
    after = f"{settings.PIPELINE_KILL_SECONDS:,} s"
    error = PipelineError(f"The process was killed: the run did not stop within {after} after its time limit.")
    if kind in CLEANED_BY_NEXT_RUN:
        _running(kind).update(error=str(error))
        return
    for run in _running(kind):
        runs.fail(run, error)


def _running(kind: str) -> QuerySet[Run]:
    return Run.objects.filter(kind=kind, state=Run.State.RUNNING)
