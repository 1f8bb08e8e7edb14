"""Queues as documents, and pages of those that a key reaches."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.expressions import RawSQL

from console.api.answers import moment
from console.api.problems import Problem
from console.api.wire.names import wire_field
from console.api.wire.queues import QueueListing
from console.api_keys import Key
from queues.counters import read_numbers
from queues.models import Queue
from queues.reach import SYSTEM_TENANT
from queues.settings import SETTINGS


def document(queue: Queue) -> dict[str, Any]:
    """A queue with every setting."""
    settings = {wire_field(name): getattr(queue, name) for name in SETTINGS}
    return {
        "queueId": f"q_{queue.queue_id}",
        "name": queue.name,
        "tenant": queue.tenant.name,
        "state": "paused" if queue.paused or queue.is_held else "closed" if queue.closed else "active",
        "isDeadLetterQueue": queue.is_dead_letter_queue,
        "createdAt": moment(queue.created_at),
        **settings,
        "mode": queue.mode.upper(),
    }


def with_numbers(queue_id: int) -> dict[str, Any] | None:
    """A queue, and how many messages it has where; by counters, whatever their number. None: it is gone."""
    found = read_numbers([queue_id])
    if not found:
        return None
    numbers = found[0]
    states = ("ready", "waiting", "scheduled", "leased", "dead")
    return {
        **document(numbers.queue),
        "messages": {state: getattr(numbers, state) for state in states},
        "oldestVisibleAgeSeconds": numbers.oldest_ready_age_seconds,
    }


def page(key: Key, wanted: QueueListing) -> dict[str, Any]:
    """The queues that the key reaches, by name, from where the cursor says."""
    queues = _reached(key).filter(name__startswith=wanted.prefix)
    if wanted.tenant is not None:
        queues = queues.filter(tenant__name=wanted.tenant)
    if wanted.cursor is not None:
        queues = queues.filter(name__gt=_name_in(wanted.cursor))
    found = list(queues[: wanted.limit + 1])
    more = len(found) > wanted.limit
    shown = found[: wanted.limit]
    return {"queues": [document(queue) for queue in shown], "nextCursor": _cursor(shown[-1].name) if more else None}


def _reached(key: Key) -> QuerySet[Queue]:
    queues = Queue.objects.select_related("tenant").order_by("name").exclude(tenant__name=SYSTEM_TENANT)
    if key.tenant is not None:
        queues = queues.filter(tenant__name=key.tenant)
    if not key.prefix:
        return queues
    served = Queue.objects.filter(dead_letter_queue_id=OuterRef("queue_id"), name__startswith=key.prefix)
    served_before = RawSQL(_SERVED_BEFORE, [key.prefix])  # noqa: S611 - a constant
    serves = Q(Exists(served)) | Q(queue_id__in=served_before)
    return queues.filter(Q(name__startswith=key.prefix) | Q(serves, is_dead_letter_queue=True))


_SERVED_BEFORE = """
select f.queue_id
from signalbox.former_dead_letter_queue f
join signalbox.queue s on s.queue_id = f.source_queue_id
where starts_with(s.name, %s)
"""


def _cursor(name: str) -> str:
    return urlsafe_b64encode(name.encode()).decode().rstrip("=")


def _name_in(cursor: str) -> str:
    try:
        name = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except ValueError:
        name = ""
    if not name or _cursor(name) != cursor or not name.isprintable():
        raise Problem.of_field("cursor", "cursor is none that a page has given")
    return name
