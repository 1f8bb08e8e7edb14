"""Rights on subscriptions: a person who configures a stream may lack rights on the target queue."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from console.access import roles
from console.access.subjects import QUEUE
from queues.errors import QueueNotFound
from queues.models import Queue
from queues.stream_models import ConsumerGroup, Stream


def offered(request: HttpRequest, stream: Stream) -> list[str]:
    """Return the names of queues that the person may subscribe to the stream."""
    reached = Queue.objects.filter(roles.reach(request.user, "configure").among(), tenant_id=stream.tenant_id)
    return list(reached.filter(is_dead_letter_queue=False).order_by("name").values_list("name", flat=True))


def check_name(request: HttpRequest, name: str | None) -> None:
    """Refuse a target queue that the person may not configure, in the words for a missing queue."""
    if name and not roles.may(request.user, "configure", QUEUE.find(name=name)):
        raise QueueNotFound(f"queue '{name}' does not exist")


def check(request: HttpRequest, group: ConsumerGroup) -> None:
    """Refuse to move or delete a subscription if the person may not configure its target queue."""
    if objection := denial(request, group):
        raise PermissionDenied(objection)


def denial(request: HttpRequest, group: ConsumerGroup) -> str:
    """Say why the person may not move or delete the group; empty if the person may."""
    reason = roles.denial_here(request, "configure")
    if reason or group.queue is None:
        return reason
    held = roles.reach(request.user, "configure")
    if held.holds(group.queue.name, group.queue.tenant.name):
        return ""
    return "The subscription sends to a queue outside your roles. A person who may configure that queue can do this."


def named(request: HttpRequest, queue: Queue | None) -> str:
    """Return the name of the target queue if the person may see it."""
    if queue is None:
        return ""
    return queue.name if roles.reach(request.user, "see_metadata").holds(queue.name, queue.tenant.name) else ""
