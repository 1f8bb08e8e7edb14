"""Subscriptions of queues from Django: with their audit rows in one transaction, and who feeds whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from queues import audit
from queues.control import streams
from queues.database.query import fetch
from queues.messages import client
from queues.models import Queue
from queues.stream_models import ConsumerGroup


@dataclass(frozen=True)
class Feed:
    """One way by which messages come into a queue: from another queue, or from a stream by its group."""

    source: str
    target: str
    tenant: str
    filter: str = ""
    delay_seconds: float | None = None
    paused: bool = False
    lag: int = 0
    """Messages that are still to come: copies that are held, or what the group has not read."""
    oldest_at: datetime | None = None
    lag_seconds: float = 0.0
    expired: int = 0
    group: str = ""
    """The group of a stream; empty where a queue feeds."""


def read_feeds() -> Sequence[Feed]:
    """Read all subscriptions, of queues and of streams, in the order of their names."""
    return sorted([*_of_queues(), *_of_streams()], key=lambda feed: (feed.source, feed.target, feed.group))


def read_feed(source: str, target: str) -> Feed | None:
    """Read one subscription of a queue."""
    return next((feed for feed in _of_queues() if (feed.source, feed.target) == (source, target)), None)


def _of_queues() -> list[Feed]:
    rows = fetch(
        "select s.source, s.target, t.name, s.filter, s.delay_seconds, s.paused, s.held, s.oldest_held_at,"
        " coalesce(extract(epoch from clock_timestamp() - s.oldest_held_at), 0)::double precision, s.expired"
        " from signalbox.queue_subscriptions() s join signalbox.queue q on q.name = s.source"
        " join signalbox.tenant t using (tenant_id)"
    )
    return [Feed(*row) for row in rows]


def _of_streams() -> list[Feed]:
    groups = ConsumerGroup.objects.filter(queue__isnull=False).select_related("stream__tenant", "queue")
    return [
        Feed(
            source=one.group.stream.name,
            target=one.group.queue.name,
            tenant=one.group.stream.tenant.name,
            lag=one.lag_messages,
            lag_seconds=one.lag_seconds,
            group=one.group.name,
        )
        for one in streams.read_groups(list(groups))
        if one.group.queue is not None
    ]


def subscribe(source: str, target: str, *, filter_text: str, delay_seconds: float | None, actor: str) -> None:
    """Send each message of the source that the filter selects to the target too."""
    with transaction.atomic(), audit.acting(actor):
        client().subscribe(source, target, filter=filter_text, delay_seconds=delay_seconds)


def unsubscribe(source: str, target: str, *, actor: str, reason: str, discard: bool = True) -> bool:
    """End a subscription and lose the copies that it holds; False when there is none. See `Client.unsubscribe`."""
    with transaction.atomic(), audit.acting(actor, reason):
        return client().unsubscribe(source, target, discard=discard)


def pause(source: str, target: str, paused: bool, *, actor: str) -> bool:
    """Pause or resume a subscription; False when it already was."""
    with transaction.atomic(), audit.acting(actor):
        return client().pause_subscription(source, target, paused)


def names_of_tenant(queue: Queue) -> Sequence[str]:
    """List the queues that may subscribe to this one: of its tenant, without dead-letter queues."""
    others = Queue.objects.filter(tenant_id=queue.tenant_id, is_dead_letter_queue=False).exclude(pk=queue.pk)
    return list(others.order_by("name").values_list("name", flat=True))
