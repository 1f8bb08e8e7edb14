"""The audit as somebody sees it who reaches some queues: what was done to those, and nothing that tells of others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import QuerySet

from dlq.filters import FilterError, parse
from dlq.reaching import JobReach
from queues.models import AuditEvent, Queue
from queues.reach import Reach


def within(events: QuerySet[AuditEvent], reach: Reach) -> QuerySet[AuditEvent]:
    """Events about queues that are reached: not of those that are gone, nor of what concerns no queue."""
    if reach.is_everything:
        return events
    return events.filter(queue_id__in=Queue.objects.filter(reach.among()).values("queue_id"))


def told(events: Iterable[AuditEvent], reach: Reach) -> Sequence[AuditEvent]:
    """The same rows, less details that name queues or tenants beyond reach, as the filter of a redrive may."""
    known = JobReach(reach)
    shown = list(events)
    for event in shown if not reach.is_everything else ():
        if not known.has(_names(event)) or not all(known.has_tenant(name) for name in _tenants(event)):
            event.details, event.reason = {}, ""
    return shown


def _names(event: AuditEvent) -> list[str]:
    """The queues that the details of an event name."""
    target = _details(event).get("target_queue")
    named = [target] if isinstance(target, str) else []
    try:
        return [*named, *_asked(event, "queue")]
    except FilterError:
        return [*named, ""]  # nobody can tell


def _tenants(event: AuditEvent) -> list[str]:
    """The tenants that its filter names, which can be read."""
    return _asked(event, "tenant")


def _asked(event: AuditEvent, key: str) -> list[str]:
    terms = parse(str(_details(event).get("filter") or "")).terms
    return [name for term in terms if term.key == key for name in term.literals]


def _details(event: AuditEvent) -> dict[str, Any]:
    return event.details if isinstance(event.details, dict) else {}
