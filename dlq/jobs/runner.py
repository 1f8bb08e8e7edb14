"""Runner of jobs: batch after batch, each one transaction, under a lease that the job's row keeps.

A slice is what one Celery task does. It ends by itself after some seconds, so that no job keeps a worker from the
others, and so that a deployment never waits for a job. Whatever dies in between, the row says how far it came.
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
# What a batch returns when there is nothing to do for a while: the slice ends, and the sweep comes round.
REST = math.inf

J = TypeVar("J", bound=Job)

# Such an error passes: the connection was lost, the server restarted, two transactions met.
PASSING = (db.OperationalError, db.InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)


class Ending(StrEnum):
    """Reasons for the end of a slice."""

    OVER = "over"  # the job is done
    MORE = "more"  # the time was up
    RESTS = "rests"  # it waits for something outside; a sweep goes on with it
    STOPPED = "stopped"  # a person paused or cancelled the job, or it failed
    TAKEN = "taken"  # another process runs it, or it is not to be run


@dataclass(frozen=True)
class Work(Generic[J]):
    """A kind of job. `batch` does the next one at a given time and notes in the job, which is saved, how far it came.

    It returns the seconds after that time at which the next batch may start, or None when nothing is left.
    """

    model: type[J]
    batch: Callable[[J, datetime], float | None]

    def run_slice(self, job_id: int, seconds: float = SLICE_SECONDS) -> Ending:
        """Run the job for at most so long, as one Celery task does.

        Several at once are harmless: one runs, the others return `TAKEN`.
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
            with contextlib.suppress(*PASSING):  # then the lease ends by itself
                lifecycle.release(self.model, job_id, runner)

    def run_in_foreground(
        self, job_id: int, seconds: float = SLICE_SECONDS, tell: Callable[[J], None] | None = None
    ) -> J:
        """Run the job here, without Celery, until it is over or paused, also while another process runs it.

        `tell` hears how far it is after every slice.
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
        """Stop after the batch under way, to go on later. False when there was nothing to pause."""
        return lifecycle.pause(self.model, job_id, actor=actor, reason=reason)

    def resume(self, job_id: int, *, actor: str, reason: str = "") -> bool:
        """Go on where the job stopped. False when it was not paused."""
        return lifecycle.resume(self.model, job_id, actor=actor, reason=reason)

    def cancel(self, job_id: int, *, actor: str, reason: str = "") -> bool:
        """Stop for good after the batch under way; what is done stays done. False when the job was over already."""
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
        if unavailable.cause_of(error):  # a database that is read-only, say: it will be written again
            raise
        # What retrying cannot heal: the job says so.
        log.exception("%s #%s failed", work.model.NOUN, job_id)
        lifecycle.fail(work.model, job_id, str(error))
        return Ending.STOPPED
