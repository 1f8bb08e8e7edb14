"""History pages of a queue, of a tenant and of all queues, over a range in the address."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.access.roles import reach, requires
from console.access.subjects import QUEUE, TENANT
from console.charts import markers, ranges
from console.charts.drawing import Chart
from console.charts.ranges import Range
from console.history import charts as history_charts
from console.history import made_up
from console.history.charts import Past
from console.queues import head as queue_head
from console.web.htmx import render_page
from queues.history.series import ALL_QUEUES, of_tenant
from queues.models import Queue, Tenant

FRAGMENT = "history/_charts.html"


@require_safe
@requires("see_metadata", of=QUEUE)
def of_queue(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/history: charts of one queue; for a dead-letter queue, of its dead letters."""
    head = queue_head.find(name)
    numbers, shown = head.numbers, ranges.of_request(request)
    past = _past(request, numbers.queue_id, shown, [name, numbers.dead_letter_queue])
    alert_age = numbers.alert_oldest_age_seconds
    drawn = past.of_dead_letters() if numbers.is_dead_letter_queue else past.of_work(alert_age)
    context = _context(shown, past, drawn) | {"title": f"Metrics · {name}", "head": head, "tab": "history"}
    return render_page(request, "queues/show.html", FRAGMENT, context | {"live_queues": numbers.queue_id})


@require_safe
@requires("see_metadata", of=TENANT)
def of_tenant_queues(request: HttpRequest, tenant_id: int) -> HttpResponse:
    """GET /tenants/<id>/history: charts of all queues of a tenant together."""
    tenant = Tenant.objects.filter(pk=tenant_id).first()
    if tenant is None:
        raise Http404("There is no such tenant.")
    names = list(Queue.objects.filter(tenant=tenant).values_list("name", flat=True))
    shown = ranges.of_request(request)
    past = _past(request, of_tenant(tenant_id), shown, names)
    context = _context(shown, past, past.of_work()) | {"title": f"Metrics · tenant {tenant.name}", "tenant": tenant}
    return render_page(request, "administration/tenants/history.html", FRAGMENT, context)


@require_safe
@requires("see_metadata")
def of_all(request: HttpRequest) -> HttpResponse:
    """GET /history: charts of all queues together."""
    shown = ranges.of_request(request)
    past = _past(request, ALL_QUEUES, shown, None)
    context = _context(shown, past, past.of_work()) | {"title": "Metrics"}
    return render_page(request, "history/show.html", FRAGMENT, context)


def _past(request: HttpRequest, queue_id: int, shown: Range, names: Sequence[str] | None) -> Past:
    marks = markers.gather(names, shown.start, shown.end, reach(request.user, "see_metadata"))
    return history_charts.read(queue_id, shown, marks)


def _context(shown: Range, past: Past, drawn: Sequence[Chart]) -> dict[str, object]:
    until = made_up.until(shown, past.marks)
    return {"shown": shown, "past": past, "charts": drawn, "live_queues": "all", "made_up_until": until}
