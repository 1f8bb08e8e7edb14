"""Lists of jobs that remove messages, and of jobs that restore them: tabs of the page Jobs."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.access.roles import requires
from console.redrives import jobs
from console.web import pagination
from console.web.htmx import render_page
from console.web.wording import plural
from dlq.jobs.models import Deletion, Purge, Undo

MAX_REMOVALS = 100


@require_safe
@requires("see_metadata", in_part=True)
def browse_removals(request: HttpRequest) -> HttpResponse:
    """GET /purges: the latest purges and deletions, newest first."""
    latest = [
        *Deletion.objects.order_by("-deletion_id")[:MAX_REMOVALS],
        *Purge.objects.order_by("-purge_id")[:MAX_REMOVALS],
    ]
    newest_first = sorted(jobs.seen_of(request, latest), key=lambda job: job.created_at, reverse=True)
    context = {
        "title": "Purges & deletions",
        "removals": newest_first[:MAX_REMOVALS],
        "is_cut": len(newest_first) > MAX_REMOVALS,
    }
    return render_page(request, "trash/removals.html", "trash/_removals.html", context)


@require_safe
@requires("see_metadata", in_part=True)
def browse_undos(request: HttpRequest) -> HttpResponse:
    """GET /undos: all undos, newest first."""
    page = jobs.seen(request, pagination.by_id(Undo.objects.all(), "undo_id", request))
    pager = pagination.pager(request, page, f"{plural(len(page.rows), 'undo')} shown")
    return render_page(
        request, "trash/undos.html", "trash/_undos.html", {"title": "Undos", "undos": page.rows, "pager": pager}
    )
