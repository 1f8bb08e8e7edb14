"""Pages of the data pipeline: the archive's progress, the runs, their files and products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from console.access.roles import requires
from console.web import pagination
from console.web.forms.fields import tell
from console.web.htmx import render_page
from console.web.sorting import Columns, arrange_newest
from console.web.wording import plural
from dlq.jobs import workers
from pipeline.jobs import starting
from pipeline.models import ArchiveFile, Run
from pipeline.spark import servers
from pipeline.spark.servers import Server
from queues.control import archive_horizon

OLD_SECONDS = 86_400
"""From this age on the archive's horizon is called old; the alert means the same."""
AROUND = timedelta(days=3)
STARTED = {"archive": "an archive run", "rollup": "a rollup", "analyse": "a failure analysis"}


@dataclass(frozen=True)
class ServerShown:
    """The latest Spark server and its state."""

    at: Server
    now: datetime

    @property
    def state(self) -> str:
        if self.at.ended_at is not None:
            return "stopped"
        if self.at.is_lost(self.now):
            return "lost"
        return "working" if self.at.busy else "idle"

    @property
    def is_up(self) -> bool:
        return self.state in ("working", "idle")

    @property
    def stops_at(self) -> datetime:
        return self.at.used_at + timedelta(seconds=self.at.idle_seconds)


COLUMNS: Columns[Run] = {
    "run": lambda run: run.get_kind_display(),
    "state": lambda run: run.state,
    "rows": lambda run: run.rows,
    "bytes": lambda run: run.bytes,
    "rate": lambda run: run.rows_per_second,
    "files": lambda run: run.number_of_files,  # type: ignore[attr-defined]
    "by": lambda run: run.started_by,
}


@require_safe
@requires("see_metadata")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /pipeline: the archive's progress, and the runs, newest first."""
    listed = arrange_newest(request, _runs(), "run_id", COLUMNS, time="started")
    page = listed.page
    at, server = archive_horizon.read(), servers.latest()
    context = {
        "title": "Runs",
        "page": page,
        "sort": listed.links,
        "pager": pagination.pager(request, page, f"{plural(len(page.rows), 'run')} shown{listed.limits}"),
        "horizon": at,
        "horizon_is_old": at and at.holds and at.moved_at < datetime.now(UTC) - timedelta(seconds=OLD_SECONDS),
        "server": ServerShown(server, datetime.now(UTC)) if server else None,
        "archive_url": settings.ARCHIVE_URL,
        "workers": workers.present(settings.PIPELINE_QUEUE),
        "worker_queue": settings.PIPELINE_QUEUE,
        "runs_now": [run for run in page.rows if run.state == Run.State.RUNNING],
    }
    return render_page(request, "pipeline/browse.html", "pipeline/_list.html", context)


FILE_COLUMNS: Columns[ArchiveFile] = {
    "file": lambda file: file.path,
    "kind": lambda file: file.kind,
    "rows": lambda file: file.rows,
    "bytes": lambda file: file.bytes,
    "first": lambda file: file.first_at,
    "last": lambda file: file.last_at,
}


@require_safe
@requires("see_metadata")
def show(request: HttpRequest, run_id: int) -> HttpResponse:
    """GET /pipeline/<id>: one run with its window, files and products."""
    run = _find(run_id)
    listed = arrange_newest(request, run.files.all(), "file_id", FILE_COLUMNS)
    page = listed.page
    context = {
        "title": f"{run.get_kind_display()} {run_id}",
        "run": run,
        "page": page,
        "sort": listed.links,
        "pager": pagination.pager(request, page, f"{plural(len(page.rows), 'file')} shown{listed.limits}"),
        "days": _days(run),
    }
    return render_page(request, "pipeline/show.html", "pipeline/_run.html", context)


@require_POST
@requires("archive")
def start(request: HttpRequest, kind: str) -> HttpResponse:
    """POST /pipeline/start/<kind>: ask a worker to start a run, unless one is running."""
    if kind not in STARTED:
        raise Http404(f"There is no run called {kind[:40]!r}: allowed: {', '.join(STARTED)}.")
    asked = starting.start(kind, actor=request.user.get_username())
    return say_asked(request, asked, f"Requested {STARTED[kind]}. It is listed here when it starts.")


def say_asked(request: HttpRequest, asked: bool, done: str) -> HttpResponse:
    """Say whether a worker was asked, and redirect to the list of runs."""
    if asked:
        messages.success(request, done)
    else:
        messages.error(request, "Nothing started: Celery's broker cannot be reached, or accepts no tasks.")
    return redirect("pipeline")


@require_POST
@requires("archive")
def cancel(request: HttpRequest, run_id: int) -> HttpResponse:
    """POST /pipeline/<id>/cancel: interrupt a run and discard its output."""
    _find(run_id)
    stopping = starting.cancel(run_id, actor=request.user.get_username())
    done = f"Stopping run {run_id}. Its partial output is discarded."
    tell(request, stopping, done, f"run {run_id} had ended already, or is stopping")
    return redirect("pipeline_run", run_id)


def _runs() -> QuerySet[Run]:
    """Return runs with numbers of files, counted only for the rows of one page."""
    files = ArchiveFile.objects.filter(run=OuterRef("pk")).order_by().values("run").annotate(of_run=Count("*"))
    return Run.objects.annotate(number_of_files=Coalesce(Subquery(files.values("of_run")), 0))


def _find(run_id: int) -> Run:
    run = _runs().select_related("taken_in_by").filter(pk=run_id).first()
    if run is None:
        raise Http404(f"There is no run {run_id}.")
    return run


def _days(run: Run) -> Sequence[tuple[date, str]]:
    """Return the days of a run: those that a rollup computed, or those of its files, each with the week of history
    around it.
    """
    if run.kind in (Run.Kind.ROLLUP, Run.Kind.ANALYSE):
        days = [date.fromisoformat(day) for day in run.outcome.get("days", [])]
    else:
        days = list(run.files.order_by("day").values_list("day", flat=True).distinct())
    return [(day, urlencode({"from": f"{day - AROUND}T00:00", "to": f"{day + AROUND}T23:59"})) for day in days]
