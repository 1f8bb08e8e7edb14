"""The control plane: making, configuring, pausing and resuming queues, each with its audit row in one transaction.

Verbs write the row themselves, in the name that `audit.acting` notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from queues import audit, renaming
from queues.errors import translated
from queues.messages import client
from queues.models import Queue


def get_queue(name: str) -> Queue:
    """The queue of this name; raises QueueNotFound."""
    try:
        return Queue.objects.select_related("tenant").get(name=name)
    except Queue.DoesNotExist:
        raise renaming.not_found(name) from None


def create_queue(
    name: str, settings: Mapping[str, Any] | None = None, *, tenant: str | None = None, actor: str = "system"
) -> Queue:
    """Make a queue, or find the one that exists with equal settings; its dead-letter queue joins its tenant."""
    return make_queue(name, settings, tenant=tenant, actor=actor)[0]


def make_queue(
    name: str, settings: Mapping[str, Any] | None = None, *, tenant: str | None = None, actor: str
) -> tuple[Queue, bool]:
    """The same, and whether it was made now: of several that make it at once, one is told so."""
    with transaction.atomic(), translated():
        with connection.cursor() as cursor:
            cursor.execute("select pg_advisory_xact_lock(hashtext('signalbox.make_queue'), hashtext(%s))", [name])
        known = Queue.objects.filter(name=name).exists()
        with audit.acting(actor):
            queue_id = client().create_queue(name, settings, tenant=tenant)
        queue = Queue.objects.select_related("tenant").get(queue_id=queue_id)
        known = known or queue.name != name  # it had this name, and is called otherwise by now
        return queue, not known


def configure_queue(name: str, settings: Mapping[str, Any], *, actor: str, reason: str = "") -> Queue:
    """Change the settings that are named, and record the value of each before and after."""
    with transaction.atomic(), translated():
        _locked(name)
        with audit.acting(actor, reason):
            client().configure_queue(name, settings)
        return get_queue(name)


def limit_lane(queue: str, group_id: str, max_in_flight: int | None, *, actor: str, reason: str = "") -> None:
    """Give one group of a queue a limit of its own (messages ready or in flight); None takes it back.

    Raises `QueueNotFound` and `InvalidArgument`, which names the field.
    """
    with transaction.atomic(), translated():
        _locked(queue)
        with audit.acting(actor, reason):
            # Past Django's cursor, which would make errors of its own of the database's refusals.
            connection.connection.execute("select signalbox.limit_lane(%s, %s, %s)", [queue, group_id, max_in_flight])


def pause_queue(name: str, *, actor: str, reason: str = "") -> bool:
    """Stop handing out messages. False when the queue was paused already: losing that race is no error."""
    with transaction.atomic():
        queue = _locked(name)
        if queue.paused:
            return False
        queue.paused, queue.paused_at, queue.paused_by, queue.paused_reason = True, timezone.now(), actor, reason[:500]
        queue.save(update_fields=["paused", "paused_at", "paused_by", "paused_reason"])
        audit.record(actor, "queue.pause", queue, reason)
        return True


def resume_queue(name: str, *, actor: str, reason: str = "") -> bool:
    """Hand out messages again. False when the queue was not paused."""
    with transaction.atomic():
        queue = _locked(name)
        if not queue.paused:
            return False
        queue.paused, queue.paused_at, queue.paused_by, queue.paused_reason = False, None, None, None
        queue.save(update_fields=["paused", "paused_at", "paused_by", "paused_reason"])
        audit.record(actor, "queue.resume", queue, reason)
        return True


def _locked(name: str) -> Queue:
    try:
        return Queue.objects.select_for_update(no_key=True).get(name=name)
    except Queue.DoesNotExist:
        raise renaming.not_found(name) from None
