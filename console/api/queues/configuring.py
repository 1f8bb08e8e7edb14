"""Creation, settings, deletion and lists of queues for the API, within the key's tenant and prefix."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.expressions import RawSQL

from console.access.api_keys import Key
from console.api.core.name_pages import page_of
from console.api.core.problems import Problem, problem_of
from console.api.queues.shapes import Depths, QueueDocument, QueueListing
from dlq.jobs.renaming import uses_of
from queues.control import deletion
from queues.control import queues as control
from queues.control.lookups import FORMER_DEAD_LETTER_QUEUES
from queues.control.queues import check_beginning
from queues.control.renaming import name_now
from queues.counters.queue_numbers import read_numbers
from queues.errors import InvalidArgument
from queues.models import Queue
from queues.reach import SYSTEM_TENANT, check_reserved


def create(key: Key, wanted: Any) -> tuple[int, dict[str, Any]]:
    """Create a queue: 201 and the new queue, or 200 and the existing queue if its settings are equal."""
    tenant = wanted.tenant or key.tenant
    settings = wanted.settings
    check_reach(key, wanted.name, tenant or "default")
    _check_dead_letter_queue(key, settings)
    with transaction.atomic():
        queues = Queue.objects.select_related("tenant")
        there = queues.filter(name=wanted.name).first() or queues.filter(name=name_now(wanted.name)).first()
        if there is not None and not key.reaches(wanted.name, there.tenant.name):
            raise Problem("queue-exists", f"The name {wanted.name!r} is taken.", errors=[("name", "name is taken")])
        try:
            queue, made = control.make_queue(
                wanted.name, settings, tenant=wanted.tenant if there else tenant, actor=key.actor
            )
        except InvalidArgument as error:
            if not there:
                raise
            # The request was valid, so this error means that the existing queue has other settings.
            inside = problem_of(error)
            raise Problem("queue-exists", inside.detail, errors=inside.errors) from error
        return (201 if made else 200), document(queue)


def configure(key: Key, name: str, changes: Any) -> dict[str, Any]:
    """Change settings and return the queue. A pause records who paused it, as in the console."""
    settings = changes.settings
    _check_dead_letter_queue(key, settings)
    paused = settings.pop("paused", None)
    with transaction.atomic():
        queue = control.configure_queue(name, settings, actor=key.actor)
        if paused is not None:
            change = control.pause_queue if paused else control.resume_queue
            change(name, actor=key.actor)
            queue = control.get_queue(name)
        return document(queue)


def delete(key: Key, name: str) -> None:
    """Delete the queue. It must be empty and unused."""
    if uses := uses_of(name):
        raise Problem("queue-in-use", f"queue {name!r} is in use: {'; '.join(uses)}", uses=uses)
    deletion.delete_queue(name, actor=key.actor)


def with_numbers(queue_id: int) -> dict[str, Any] | None:
    """Return a queue and its numbers of messages, read from counters. None if the queue is gone."""
    found = read_numbers([queue_id])
    if not found:
        return None
    numbers = found[0]
    age = numbers.oldest_ready_age_seconds
    return {**document(numbers.queue), "messages": Depths.of(numbers), "oldestVisibleAgeSeconds": age}


def page(key: Key, wanted: QueueListing) -> dict[str, Any]:
    """Return the queues that the key reaches, by name, after the cursor."""
    shown, after = page_of(reached(key), wanted)
    return {"queues": [document(queue) for queue in shown], "nextCursor": after}


def document(queue: Queue) -> dict[str, Any]:
    """Return a queue with all settings."""
    described: dict[str, Any] = QueueDocument.of(
        queue,
        queue_id=f"q_{queue.queue_id}",
        tenant=queue.tenant.name,
        state="paused" if queue.paused or queue.is_held else "closed" if queue.closed else "active",
        mode=queue.mode.upper(),
    )
    return described


def check_reach(key: Key, name: str, tenant: str, field: str = "name") -> None:
    """Check that the key may make a queue or stream of this name and tenant. Raises `out-of-reach`."""
    check_reserved(name, tenant)
    if key.tenant not in (None, tenant):
        detail = f"tenant must be {key.tenant!r}: the key {key.name} reaches no other"
        raise Problem.of_field("tenant", detail, kind="out-of-reach")
    _check_name(key, field, name)


def _check_dead_letter_queue(key: Key, settings: dict[str, Any]) -> None:
    """Check that the key may use this dead-letter queue.

    A key reaches the dead letters of its queues, so a foreign dead-letter queue would open to it.
    """
    if (name := settings.get("dead_letter_queue")) is not None:
        _check_name(key, "deadLetterQueue", name)


def _check_name(key: Key, field: str, name: str) -> None:
    if not name.startswith(key.prefix):
        detail = f"{field} must begin with {key.prefix!r}: the key {key.name} reaches no others"
        raise Problem.of_field(field, detail, kind="out-of-reach")
    if key.tenant is not None:
        try:
            check_beginning(name, key.tenant, field)
        except InvalidArgument as error:
            raise Problem.of_field(field, str(error), kind="out-of-reach") from error


def reached(key: Key) -> QuerySet[Queue]:
    """Return the queues that the key reaches, by name."""
    queues = Queue.objects.select_related("tenant").order_by("name").exclude(tenant__name=SYSTEM_TENANT)
    if key.tenant is not None:
        queues = queues.filter(tenant__name=key.tenant)
    if not key.prefix:
        return queues
    served = Queue.objects.filter(dead_letter_queue_id=OuterRef("queue_id"), name__startswith=key.prefix)
    served_before = RawSQL(FORMER_DEAD_LETTER_QUEUES, [key.prefix])  # noqa: S611 - a constant
    serves = Q(Exists(served)) | Q(queue_id__in=served_before)
    return queues.filter(Q(name__startswith=key.prefix) | Q(serves, is_dead_letter_queue=True))
