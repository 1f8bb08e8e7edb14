"""The past of a queue, of a tenant and of all queues together: charts over a range that the address names."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console import history_charts, markers, queue_head, ranges, rollup_charts
from console.history_charts import Past
from console.htmx import render_page
from console.ranges import Range
from console.roles import reach, requires
from console.rollup_charts import Days
from console.subjects import QUEUE, TENANT
from queues.history_series import ALL_QUEUES, of_tenant
from queues.models import Queue, Tenant

FRAGMENT = "history/_charts.html"


@require_safe
@requires("see_metadata", of=QUEUE)
def of_queue(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/history: one queue; of one that keeps dead letters, what it has of them."""
    head = queue_head.find(name)
    numbers, shown = head.numbers, ranges.of_request(request)
    past = _past(request, numbers.queue_id, shown, [name, head.dead_letter_queue])
    if isinstance(past, Days):
        drawn = rollup_charts.of_work(past)
    elif numbers.is_dead_letter_queue:
        drawn = history_charts.of_dead_letters(past)
    else:
        drawn = history_charts.of_work(past, numbers.alert_oldest_age_seconds)
    context = _context(shown, past, drawn) | {"title": f"{name}: history", "head": head, "tab": "history"}
    return render_page(request, "queues/show.html", FRAGMENT, context | {"live_queues": numbers.queue_id})


@require_safe
@requires("see_metadata", of=TENANT)
def of_tenant_queues(request: HttpRequest, tenant_id: int) -> HttpResponse:
    """GET /tenants/<id>/history: the queues of one tenant together."""
    tenant = Tenant.objects.filter(pk=tenant_id).first()
    if tenant is None:
        raise Http404("There is no such tenant.")
    names = list(Queue.objects.filter(tenant=tenant).values_list("name", flat=True))
    shown = ranges.of_request(request)
    past = _past(request, of_tenant(tenant_id), shown, names)
    context = _context(shown, past, _of_work(past)) | {
        "title": f"Tenant {tenant.name}: history",
        "tenant": tenant,
    }
    return render_page(request, "tenants/history.html", FRAGMENT, context)


@require_safe
@requires("see_metadata")
def of_all(request: HttpRequest) -> HttpResponse:
    """GET /history: all queues together."""
    shown = ranges.of_request(request)
    past = _past(request, ALL_QUEUES, shown, None)
    context = _context(shown, past, _of_work(past)) | {"title": "History"}
    return render_page(request, "history/show.html", FRAGMENT, context)


def _past(request: HttpRequest, queue_id: int, shown: Range, names: Sequence[str] | None) -> Past | Days:
    read = rollup_charts.read if shown.of_days else history_charts.read
    seen = reach(request.user, "see_metadata")
    return read(queue_id, shown, markers.gather(names, shown.start, shown.end, seen))


def _of_work(past: Past | Days) -> Sequence[history_charts.Chart]:
    return rollup_charts.of_work(past) if isinstance(past, Days) else history_charts.of_work(past)


def _context(shown: Range, past: Past | Days, drawn: Sequence[history_charts.Chart]) -> dict[str, object]:
    return {"shown": shown, "past": past, "charts": drawn, "live_queues": "all"}
