"""Lists of jobs that remove messages, and of jobs that restore them: tabs of the page Jobs."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.access.roles import requires
from console.redrives import jobs
from console.web import pagination
from console.web.htmx import render_page
from console.web.sorting import Columns, arrange, arrange_newest
from console.web.wording import plural
from dlq.discards.models import Discard
from dlq.jobs.models import Deletion, Purge, Undo

MAX_REMOVALS = 100
REMOVAL_COLUMNS: Columns[Deletion | Purge | Discard] = {
    "job": lambda job: f"{job.NOUN} {job.pk:020}",
    "state": lambda job: job.state,
    "removed": lambda job: job.handled,
    "by": lambda job: job.created_by,
    "started": lambda job: job.created_at,
}
UNDO_COLUMNS: Columns[Undo] = {
    "undo": lambda job: job.undo_id,
    "state": lambda job: job.state,
    "source": lambda job: f"{job.undoes_noun} {job.undoes_id:020}",
    "restored": lambda job: job.restored,
    "by": lambda job: job.created_by,
}


@require_safe
@requires("see_metadata", in_part=True)
def browse_removals(request: HttpRequest) -> HttpResponse:
    """GET /purges: the latest purges, deletions and discards, newest first."""
    latest = [
        *Deletion.objects.order_by("-deletion_id")[:MAX_REMOVALS],
        *Purge.objects.order_by("-purge_id")[:MAX_REMOVALS],
        *Discard.objects.order_by("-discard_id")[:MAX_REMOVALS],
    ]
    newest_first = sorted(jobs.seen_of(request, latest), key=lambda job: job.created_at, reverse=True)
    shown = arrange(request, newest_first[:MAX_REMOVALS], REMOVAL_COLUMNS)
    context = {
        "title": "Purges & deletions",
        "removals": shown.rows,
        "sort": shown.links,
        "is_cut": len(newest_first) > MAX_REMOVALS,
    }
    return render_page(request, "trash/removals.html", "trash/_removals.html", context)


@require_safe
@requires("see_metadata", in_part=True)
def browse_undos(request: HttpRequest) -> HttpResponse:
    """GET /undos: all undos, newest first."""
    listed = arrange_newest(request, Undo.objects.all(), "undo_id", UNDO_COLUMNS, time="requested")
    page = jobs.seen(request, listed.page)
    context = {
        "title": "Undos",
        "undos": page.rows,
        "sort": listed.links,
        "pager": pagination.pager(request, page, f"{plural(len(page.rows), 'undo')} shown{listed.limits}"),
    }
    return render_page(request, "trash/undos.html", "trash/_undos.html", context)
