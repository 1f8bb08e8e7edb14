"""Suggested names for fields of forms: queues, streams and tenants within the reach of the person."""

from __future__ import annotations

from django.http import HttpRequest

from console.access import roles
from queues.models import Queue, Tenant
from queues.stream_models import Stream

MAX_SUGGESTED = 200


def queue_names(request: HttpRequest, permission: str = "see_metadata") -> list[str]:
    """List the first queues by name for which the person has the permission, without dead-letter queues."""
    reached = Queue.objects.filter(roles.reach(request.user, permission).among(), is_dead_letter_queue=False)
    return list(reached.order_by("name").values_list("name", flat=True)[:MAX_SUGGESTED])


def dead_letter_queue_names(request: HttpRequest, tenant: str) -> list[str]:
    """List the first dead-letter queues of a tenant that the person may configure."""
    reached = Queue.objects.filter(roles.reach(request.user, "configure").among(), is_dead_letter_queue=True)
    return list(reached.filter(tenant__name=tenant).order_by("name").values_list("name", flat=True)[:MAX_SUGGESTED])


def queue_and_stream_names(request: HttpRequest) -> list[str]:
    """List the first queues and streams by name that the person may see."""
    streams = Stream.objects.filter(roles.reach(request.user, "see_metadata").among())
    names = {*queue_names(request), *streams.order_by("name").values_list("name", flat=True)[:MAX_SUGGESTED]}
    return sorted(names)[:MAX_SUGGESTED]


def tenant_names(request: HttpRequest, permission: str = "see_metadata") -> list[str]:
    """List the first tenants by name whose queues the person reaches with the permission."""
    reach = roles.reach(request.user, permission)
    names = Tenant.objects.order_by("name").values_list("name", flat=True)
    return [name for name in names if reach.touches_tenant(name)][:MAX_SUGGESTED]
