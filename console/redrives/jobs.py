"""Pages of jobs of any kind: find a job, cancel it, and show its progress and the reason when it waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from console.access.roles import reach
from console.charts.drawing import Mark
from console.charts.markers import MAX_MARKS
from console.web.forms.fields import tell
from console.web.htmx import render_page
from console.web.wording import number, plural
from dlq.jobs import workers
from dlq.jobs.models import Job, Redrive
from dlq.redrives.plan_models import Plan
from dlq.search.pages import Page
from dlq.search.reach import AnyJob, JobReach, seen_among
from queues.reach import Reach

# A worker takes a job at once when it has a free slot.
WORKER_EXPECTED_WITHIN_SECONDS = 15.0
START_WORKER = "Start one with: celery -A console worker"


@dataclass(frozen=True)
class Progress:
    """`share` is from 0 to 1, None when it is not known; `pace` is messages per second over the whole run."""

    share: float | None
    pace: float | None
    seconds_left: float | None
    hint: str

    @property
    def percent(self) -> int | None:
        return None if self.share is None else int(self.share * 100)


def find(model: type[AnyJob], job_id: int) -> AnyJob:
    """Find the job of an address. Raises Http404."""
    job = model._default_manager.filter(pk=job_id).first()
    if job is None:
        raise Http404(f"There is no {model.NOUN} {job_id}.")
    return job


def announced(request: HttpRequest, job: Job) -> HttpResponse:
    """Tell the person that the job started, or awaits approval, and go to its page."""
    messages.success(
        request, f"{job.NOUN.capitalize()} #{job.pk} {'awaits approval' if job.is_awaiting else 'started'}."
    )
    return redirect(job.NOUN, job.pk)


def show(request: HttpRequest, job: Job, folder: str, page: str = "redrives", **more: object) -> HttpResponse:
    """Show the page of a job: its living part is in `folder`, and the frame with the way back in `page`."""
    context = {"title": f"{job.NOUN.capitalize()} #{job.pk}", "job": job, "progress": progress_of(job), **more}
    return render_page(request, f"{page}/show.html", f"{folder}/_job.html", context)


def cancel(request: HttpRequest, model: type[Job], job_id: int, verb: Callable[..., bool], rest: str) -> HttpResponse:
    """Cancel the job, show the sentence `rest` about the remaining messages, and go back to its page."""
    find(model, job_id)
    done = f"{model.NOUN.capitalize()} #{job_id} is cancelled. {rest}"
    tell(request, verb(job_id, actor=request.user.get_username()), done, f"{model.NOUN} #{job_id} has already ended")
    return redirect(model.NOUN, job_id)


def is_seen(request: HttpRequest, job: Job | Plan) -> bool:
    """Return whether all that the job touches is within what the person sees."""
    return JobReach(reach(request.user, "see_metadata")).sees(job)


def seen_of(request: HttpRequest, jobs: Iterable[AnyJob]) -> list[AnyJob]:
    """Return the jobs that the person sees."""
    return seen_among(reach(request.user, "see_metadata"), jobs)


def seen(request: HttpRequest, page: Page[AnyJob]) -> Page[AnyJob]:
    """Remove jobs that the person may not see from a page: it may be short although more pages follow."""
    return replace(page, rows=seen_of(request, page.rows))


def progress_of(job: Job) -> Progress:
    """Compute the progress of a job."""
    pace, rate_per_second = None, job.rate_per_second if isinstance(job, Redrive) else None
    if job.started_at and job.last_batch_at and job.handled:
        seconds = (job.last_batch_at - job.started_at).total_seconds()
        pace = job.handled / seconds if seconds >= 1 else None
    expected = rate_per_second if pace is None else min(pace, rate_per_second or pace)
    left = None
    if job.is_active and job.total_is_exact and expected:
        left = max(job.total_estimate - job.handled, 0) / expected
    return Progress(job.progress, pace, left, _hint(job))


def _hint(job: Job) -> str:
    """One sentence about a job that does not move, and what to do."""
    if job.state == Job.State.PAUSED:
        return "Paused. Resume the job to continue where it stopped."
    if job.state == Job.State.AWAITING:
        return "Awaiting approval. Nothing happens until a person other than its author approves the job."
    return _waiting_hint(job) if workers.waits_for_worker(job) else ""


def _waiting_hint(job: Job) -> str:
    """Say why no worker runs this job: there is none, or all are busy."""
    load = workers.read(job)
    if load.present == 0:
        return f"No job worker is running. {START_WORKER}"
    if job.state == Job.State.RUNNING and not _is_late(job.last_batch_at or job.created_at):
        return ""  # between two slices
    if load.running:
        return f"Queued behind {plural(load.running, 'running job')}."
    if load.present is None and _is_late(job.created_at):
        return f"No job worker has taken this job. {START_WORKER}"
    return "Waiting for a job worker."


def _is_late(since: datetime) -> bool:
    return (datetime.now(UTC) - since).total_seconds() >= WORKER_EXPECTED_WITHIN_SECONDS


def marks_of_redrives(names: Sequence[str] | None, start: datetime, end: datetime, reached: Reach) -> list[Mark]:
    """List the latest redrives from or to these queues (None: any), as marks in charts."""
    found = Redrive.objects.filter(started_at__gte=start, started_at__lte=end)
    if names is not None:
        found = found.filter(Q(target_queue__in=names) | Q(source_queues__has_any_keys=list(names)))
    return [
        Mark(
            at=job.started_at,
            number=0,
            words=f"Redrive #{job.redrive_id} by {job.created_by} started; {number(job.moved)} sent",
            tone="redrive",
            url=reverse("redrive", args=[job.redrive_id]),
        )
        for job in seen_among(reached, found.order_by("-started_at")[:MAX_MARKS])
        if job.started_at
    ]
