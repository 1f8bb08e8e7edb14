"""How far a job is, in numbers and words, whichever kind it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.http import HttpRequest

from console.roles import reach
from dlq.browse import Page
from dlq.models import Job, Plan
from dlq.reaching import AnyJob, JobReach, seen_among

# A worker takes a new job at once; one that still waits after this has no worker.
WORKER_EXPECTED_WITHIN_SECONDS = 15.0


@dataclass(frozen=True)
class Progress:
    """`share` is from 0 to 1, None when nobody can tell; `pace` is messages per second over the whole run."""

    share: float | None
    pace: float | None
    seconds_left: float | None
    hint: str

    @property
    def percent(self) -> int | None:
        return None if self.share is None else int(self.share * 100)


def is_seen(request: HttpRequest, job: Job | Plan) -> bool:
    """Whether all that the job touches is within what the person sees."""
    return JobReach(reach(request.user, "see_metadata")).sees(job)


def seen_of(request: HttpRequest, jobs: Iterable[AnyJob]) -> list[AnyJob]:
    """Those of some jobs that the person sees."""
    return seen_among(reach(request.user, "see_metadata"), jobs)


def seen(request: HttpRequest, page: Page[AnyJob]) -> Page[AnyJob]:
    """A page of jobs, less those that the person does not see: it may be short, and yet have successors."""
    return replace(page, rows=seen_of(request, page.rows))


def progress_of(job: Job, rate_per_second: int | None = None) -> Progress:
    """The progress of a job; `rate_per_second` bounds what it may still do."""
    pace = _pace(job)
    expected = rate_per_second if pace is None else min(pace, rate_per_second or pace)
    left = None
    if job.is_active and job.total_is_exact and expected:
        left = max(job.total_estimate - job.handled, 0) / expected
    return Progress(job.progress, pace, left, _hint(job))


def _pace(job: Job) -> float | None:
    if not job.started_at or not job.last_batch_at or not job.handled:
        return None
    seconds = (job.last_batch_at - job.started_at).total_seconds()
    return job.handled / seconds if seconds >= 1 else None


def _hint(job: Job) -> str:
    """One sentence about a job that does not move, and what to do."""
    if job.state == Job.State.PAUSED:
        return "Paused: it goes on where it stopped."
    if job.state == Job.State.AWAITING:
        return "Waiting for a second person: nothing happens until somebody other than its author approves it."
    waited = (datetime.now(UTC) - job.created_at).total_seconds()
    if job.state == Job.State.PENDING and not job.started_at:
        if waited < WORKER_EXPECTED_WITHIN_SECONDS:
            return "Waiting for a worker."
        return "No worker has taken it yet. Is one running? Start it with: celery -A console worker"
    return ""
