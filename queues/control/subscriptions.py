"""Subscriptions of queues from Django: changes with their audit rows, and which queue or stream feeds which queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from queues import audit
from queues.database.query import fetch, query_text
from queues.messages import client
from queues.models import Queue


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
    window: int | None = None
    """The messages in the target up to which a group sends; None where a queue feeds."""
    target_id: int = 0


def read_feeds(queue_ids: Sequence[int] | None = None) -> Sequence[Feed]:
    """Read the subscriptions that feed these queues, or all, of queues and of streams, by names. One query."""
    found = [Feed(*row) for row in fetch(query_text("subscriptions/feeds"), {"queue_ids": _ids(queue_ids)})]
    return sorted(found, key=lambda feed: (feed.source, feed.target, feed.group))


def feeds_by_target(queue_ids: Sequence[int] | None = None) -> dict[int, tuple[Feed, ...]]:
    """Read the subscriptions that feed these queues, or all, by the id of the queue that they feed. One query."""
    by_target: dict[int, tuple[Feed, ...]] = {}
    for feed in read_feeds(queue_ids):
        by_target[feed.target_id] = (*by_target.get(feed.target_id, ()), feed)
    return by_target


def _ids(queue_ids: Sequence[int] | None) -> list[int] | None:
    return None if queue_ids is None else list(queue_ids)


def read_feed(source: str, target: str) -> Feed | None:
    """Read one subscription of a queue."""
    feeds = (feed for feed in read_feeds() if not feed.group)
    return next((feed for feed in feeds if (feed.source, feed.target) == (source, target)), None)


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
