"""The control plane: create, configure, pause and resume queues, each with its audit row in one transaction.

Verbs write the audit row themselves, for the actor that `audit.acting` sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from queues import audit
from queues.control import renaming
from queues.database.query import fetch, verb_rows
from queues.errors import InvalidArgument
from queues.messages import client
from queues.models import Queue, Tenant

NAME_SEPARATORS = "-._"
"""The separator between the name of a tenant and the rest of a queue's name."""


def get_queue(name: str) -> Queue:
    """Read the queue of this name; raises QueueNotFound."""
    try:
        return Queue.objects.select_related("tenant").get(name=name)
    except Queue.DoesNotExist:
        raise renaming.not_found(name) from None


def create_queue(
    name: str, settings: Mapping[str, Any] | None = None, *, tenant: str | None = None, actor: str = "system"
) -> Queue:
    """Create a queue, or return the existing one with equal settings; its dead-letter queue has the same tenant."""
    return make_queue(name, settings, tenant=tenant, actor=actor)[0]


def make_queue(
    name: str, settings: Mapping[str, Any] | None = None, *, tenant: str | None = None, actor: str
) -> tuple[Queue, bool]:
    """Create a queue unless it exists; return it, and whether this call created it."""
    with transaction.atomic():
        fetch("select pg_advisory_xact_lock(hashtext('signalbox.make_queue'), hashtext(%s))", [name])
        known = Queue.objects.filter(name=name).exists()
        with audit.acting(actor):
            queue_id = client().create_queue(name, settings, tenant=tenant)
        queue = Queue.objects.select_related("tenant").get(queue_id=queue_id)
        known = known or queue.name != name  # an old name of a renamed queue
        return queue, not known


def configure_queue(name: str, settings: Mapping[str, Any], *, actor: str, reason: str = "") -> Queue:
    """Change the settings that are named, and record the value of each before and after."""
    with transaction.atomic(), audit.acting(actor, reason):
        _locked(name)
        client().configure_queue(name, settings)
        return get_queue(name)


def limit_lane(queue: str, group_id: str, max_in_flight: int | None, *, actor: str, reason: str = "") -> None:
    """Give one group of a queue a limit of its own (messages ready or in flight); None removes that limit.

    Raises `QueueNotFound` and `InvalidArgument`, which names the field.
    """
    with transaction.atomic(), audit.acting(actor, reason):
        _locked(queue)
        verb_rows("select signalbox.limit_lane(%s, %s, %s)", queue, group_id, max_in_flight)


def set_group_policy(
    queue: str,
    group_id: str,
    *,
    max_in_flight: int | None,
    max_waiting: int | None,
    release_interval: float | None,
    actor: str,
    reason: str = "",
) -> None:
    """Give one group of a queue limits of its own; None in all of them removes its policy.

    Raises `QueueNotFound` and `InvalidArgument`, which names the field.
    """
    limits = (max_in_flight, max_waiting, release_interval)
    with transaction.atomic(), audit.acting(actor, reason):
        _locked(queue)
        if all(limit is None for limit in limits):
            verb_rows("select signalbox.clear_group_policy(%s, %s)", queue, group_id)
        else:
            verb_rows("select signalbox.set_group_policy(%s, %s, %s, %s, %s)", queue, group_id, *limits)


def pause_queue(name: str, *, actor: str, reason: str = "") -> bool:
    """Stop handing out messages. False when the queue was paused already: losing that race is no error."""
    return _set_paused(name, True, actor, reason)


def resume_queue(name: str, *, actor: str, reason: str = "") -> bool:
    """Hand out messages again. False when the queue was not paused."""
    return _set_paused(name, False, actor, reason)


def _set_paused(name: str, paused: bool, actor: str, reason: str) -> bool:
    with transaction.atomic():
        queue = _locked(name)
        if queue.paused == paused:
            return False
        queue.paused = paused
        queue.paused_at, queue.paused_by = (timezone.now(), actor) if paused else (None, None)
        queue.paused_reason = reason[:500] if paused else None
        queue.save(update_fields=["paused", "paused_at", "paused_by", "paused_reason"])
        audit.record(actor, "queue.pause" if paused else "queue.resume", queue, reason)
        return True


def _locked(name: str) -> Queue:
    try:
        return Queue.objects.select_for_update(no_key=True).get(name=name)
    except Queue.DoesNotExist:
        raise renaming.not_found(name) from None


def check_beginning(name: str, tenant: str, field: str = "name") -> None:
    """Refuse a name of a queue that begins with the name of another tenant. Raises `InvalidArgument`.

    Names of queues are one list for all tenants: those that begin with the name of a tenant are for that tenant. The
    longest name of a tenant counts: `acme-eu-orders` is for the tenant `acme-eu`, and not for `acme`. A queue that
    the tenant has already keeps its name.
    """
    beginnings = [name[:length] for length, character in enumerate(name) if character in NAME_SEPARATORS and length]
    owners = Tenant.objects.filter(name__in=beginnings).values_list("name", flat=True)
    owner = max(owners, key=len, default=tenant)
    if owner != tenant and not Queue.objects.filter(name=name, tenant__name=tenant).exists():
        raise InvalidArgument(f"{field} is {name!r}: names that begin so are for another tenant; use another", field)
