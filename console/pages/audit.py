"""The audit: every action, who took it, and why. Rows are only ever added."""

from __future__ import annotations

from dataclasses import replace

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from console import audit_filter, keyset, queue_head, reached_audit, roles
from console.audit_filter import KEYS
from console.filterbar import FilterBar, Suggestion, typed
from console.htmx import render_page
from console.roles import requires
from console.subjects import QUEUE
from console.wording import plural
from dlq.browse import Page
from dlq.filters import FilterError
from queues.models import AuditEvent


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /audit: every action that the filter selects, newest first."""
    reach = roles.reach(request.user, "see_metadata")
    events, mistake = select(reached_audit.within(AuditEvent.objects.all(), reach), typed(request))
    page = _told(request, keyset.by_id(events, "audit_event_id", request))
    context = {
        "title": "Audit",
        "export_url": f"{reverse('export_audit')}?{urlencode({'q': typed(request)})}",
        "page": page,
        "pager": keyset.pager(request, page, f"{plural(len(page.rows), 'action')} shown"),
        "bar": FilterBar(
            text=typed(request),
            label="Filter actions",
            action=reverse("audit"),
            placeholder="actor: action: queue: at: redrive: reason:",
            keys=[Suggestion(f"{name}:", key.help) for name, key in KEYS.items()],
            example="actor:ana action:queue.pause age:<1d",
            mistake=mistake,
        ),
    }
    return render_page(request, "audit/browse.html", "audit/_list.html", context)


@require_safe
@requires("see_metadata", of=QUEUE)
def of_queue(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/audit: what was done to one queue."""
    head = queue_head.find(name)
    events = AuditEvent.objects.filter(queue_id=head.numbers.queue_id)
    page = _told(request, keyset.by_id(events, "audit_event_id", request))
    context = {
        "title": f"Audit · {name}",
        "head": head,
        "tab": "audit",
        "page": page,
        "pager": keyset.pager(request, page, f"{plural(len(page.rows), 'action')} shown"),
    }
    return render_page(request, "queues/audit.html", "audit/_list.html", context)


def _told(request: HttpRequest, page: Page[AuditEvent]) -> Page[AuditEvent]:
    return replace(page, rows=reached_audit.told(page.rows, roles.reach(request.user, "see_metadata")))


def select(events: QuerySet[AuditEvent], text: str) -> tuple[QuerySet[AuditEvent], FilterError | None]:
    """The events that a filter selects, or all of them beside its mistake."""
    try:
        return audit_filter.select(events, text), None
    except FilterError as error:
        return events, error
