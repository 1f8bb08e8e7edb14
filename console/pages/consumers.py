"""Consumers: who receives, from which queue, and when it last did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console import queue_head
from console.htmx import render_page
from console.roles import reach, requires
from console.subjects import QUEUE
from queues.models import Consumer, Lease

MOST_CONSUMERS = 500
MOST_LEASES = 10_000
PRESENT = timedelta(seconds=60)
FORGOTTEN = timedelta(days=1)


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /consumers: everybody seen within a day, the latest first."""
    consumers = _seen(reach(request.user, "see_metadata").among("queue__name", "queue__tenant__name"))
    context = {"title": "Consumers", "consumers": _marked(consumers, {}), "full": len(consumers) == MOST_CONSUMERS}
    return render_page(request, "consumers/browse.html", "consumers/_list.html", context)


@require_safe
@requires("see_metadata", of=QUEUE)
def of_queue(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/consumers: who receives from one queue, and how much each has in hand."""
    head = queue_head.find(name)
    consumers = _seen(Q(queue_id=head.numbers.queue_id))
    held = _held(head.numbers.queue_id)
    context = {
        "title": f"Consumers · {name}",
        "head": head,
        "tab": "consumers",
        "consumers": _marked(consumers, held),
        "full": len(consumers) == MOST_CONSUMERS,
    }
    return render_page(request, "queues/consumers.html", "queues/_consumers.html", context)


def _seen(among: Q) -> list[Consumer]:
    since = datetime.now(UTC) - FORGOTTEN
    seen = Consumer.objects.select_related("queue").filter(among, last_seen_at__gte=since)
    latest = seen.order_by("-last_seen_at")[:MOST_CONSUMERS]
    return sorted(latest, key=lambda one: (one.queue.name, one.consumer))  # rows that stay where one reads them


def _held(queue_id: int) -> Mapping[str | None, int]:
    """Messages in each consumer's hands, counted over at most MOST_LEASES."""
    holders = Lease.objects.filter(queue_id=queue_id).values_list("consumer", flat=True)[:MOST_LEASES]
    return Counter(holders)


def _marked(consumers: list[Consumer], held: Mapping[str | None, int]) -> list[dict[str, object]]:
    """Each consumer with whether it is present and what it holds."""
    now = datetime.now(UTC)
    return [
        {"consumer": one, "present": now - one.last_seen_at < PRESENT, "held": held.get(one.consumer, 0)}
        for one in consumers
    ]
