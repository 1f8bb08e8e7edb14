"""Runner of jobs: one batch after the other, each in one transaction, under a lease in the row of the job.

One Celery task runs one slice of a job. A slice ends after some seconds, so that jobs share the workers and a
deployment never waits for a job. If a process dies in between, the row has the position of the job.
"""

from __future__ import annotations

import contextlib
import logging
import math
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

import psycopg
from django import db
from django.db import transaction

from dlq.jobs import lifecycle
from dlq.jobs.models import Job
from signalbox.connections import unavailable

log = logging.getLogger(__name__)

SLICE_SECONDS = 20.0
POLL_SECONDS = 0.2
# A batch returns REST when the job must wait for something outside: the slice ends, and a sweep starts the next one.
REST = math.inf

J = TypeVar("J", bound=Job)

# Temporary errors: the connection was lost, the server restarted, or two transactions conflicted.
PASSING = (db.OperationalError, db.InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)


class Ending(StrEnum):
    """Reasons for the end of a slice."""

    OVER = "over"  # the job has ended
    MORE = "more"  # the time of the slice was up
    RESTS = "rests"  # the job waits for something outside; a sweep continues it
    STOPPED = "stopped"  # a person paused or cancelled the job, or it failed
    TAKEN = "taken"  # another process runs the job, or the job must not run


@dataclass(frozen=True)
class Work(Generic[J]):
    """A kind of job. `batch` runs the next batch at a given time and sets the position in the job, which is then saved.

    `batch` returns the seconds from that time to the start of the next batch, or None when no message is left.
    """

    model: type[J]
    batch: Callable[[J, datetime], float | None]

    def run_slice(self, job_id: int, seconds: float = SLICE_SECONDS) -> Ending:
        """Run the job for at most this time, as one Celery task does.

        Of several concurrent slices of a job one runs, and the others return `TAKEN`.
        """
        runner = uuid.uuid4()
        if not lifecycle.claim(self.model, job_id, runner):
            return Ending.TAKEN
        ends_at = time.monotonic() + seconds
        try:
            while True:
                began = time.monotonic()
                wait_seconds = _batch(self, job_id, runner)
                if isinstance(wait_seconds, Ending):
                    return wait_seconds
                if wait_seconds == REST:
                    return Ending.RESTS
                next_at = max(time.monotonic(), began + wait_seconds)
                if next_at >= ends_at:
                    return Ending.MORE
                time.sleep(max(0.0, next_at - time.monotonic()))
        finally:
            with contextlib.suppress(*PASSING):  # the lease expires without this
                lifecycle.release(self.model, job_id, runner)

    def run_in_foreground(
        self, job_id: int, seconds: float = SLICE_SECONDS, tell: Callable[[J], None] | None = None
    ) -> J:
        """Run the job in this process until it ends or is paused, also while another process runs it.

        `tell` is called with the job after every slice.
        """
        while (ending := self.run_slice(job_id, seconds)) is not Ending.STOPPED:
            job = self.model._default_manager.get(pk=job_id)
            if tell:
                tell(job)
            if job.state not in Job.RUNNABLE_STATES:
                return job
            if job.runner is not None or ending is Ending.RESTS:
                time.sleep(POLL_SECONDS)
        return self.model._default_manager.get(pk=job_id)

    def pause(self, job_id: int, *, actor: str, reason: str = "") -> bool:
        """Pause the job after the current batch. False when the job was not pending or running."""
        return lifecycle.pause(self.model, job_id, actor=actor, reason=reason)

    def resume(self, job_id: int, *, actor: str, reason: str = "") -> bool:
        """Continue a paused job. False when the job was not paused."""
        return lifecycle.resume(self.model, job_id, actor=actor, reason=reason)

    def cancel(self, job_id: int, *, actor: str, reason: str = "") -> bool:
        """Cancel the job after the current batch. False when the job has already ended."""
        return lifecycle.cancel(self.model, job_id, actor=actor, reason=reason)


def _batch(work: Work[J], job_id: int, runner: uuid.UUID) -> float | Ending:
    try:
        with transaction.atomic():
            held = lifecycle.hold(work.model, job_id, runner)
            if held is None:
                return Ending.STOPPED
            job, now = held
            wait_seconds = work.batch(job, now)
            if wait_seconds is None:
                lifecycle.finish(job)
            job.save()
            return Ending.OVER if wait_seconds is None else wait_seconds
    except PASSING:
        raise
    except Exception as error:
        if unavailable.cause_of(error):  # such as a read-only database, which becomes writable again
            raise
        # Retrying cannot help: the job keeps the error.
        log.exception("%s #%s failed", work.model.NOUN, job_id)
        lifecycle.fail(work.model, job_id, str(error))
        return Ending.STOPPED
