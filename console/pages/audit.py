"""The audit: every action, who took it, and why. Rows are only ever added."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from console import audit_filter, keyset, queue_head
from console.audit_filter import KEYS
from console.filterbar import FilterBar, Suggestion, typed
from console.htmx import render_page
from console.roles import requires
from console.wording import plural
from dlq.filters import FilterError
from queues.models import AuditEvent


@require_safe
@requires("see_metadata")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /audit: every action that the filter selects, newest first."""
    events, mistake = select(AuditEvent.objects.all(), typed(request))
    page = keyset.by_id(events, "audit_event_id", request)
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
@requires("see_metadata")
def of_queue(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/audit: what was done to one queue."""
    head = queue_head.find(name)
    page = keyset.by_id(AuditEvent.objects.filter(queue_id=head.numbers.queue_id), "audit_event_id", request)
    context = {
        "title": f"Audit · {name}",
        "head": head,
        "tab": "audit",
        "page": page,
        "pager": keyset.pager(request, page, f"{plural(len(page.rows), 'action')} shown"),
    }
    return render_page(request, "queues/audit.html", "audit/_list.html", context)


def select(events: QuerySet[AuditEvent], text: str) -> tuple[QuerySet[AuditEvent], FilterError | None]:
    """The events that a filter selects, or all of them beside its mistake."""
    try:
        return audit_filter.select(events, text), None
    except FilterError as error:
        return events, error
