"""A queue in numbers: depth, age, rates and totals, exact at the moment of reading and never by scanning messages.

Verbs append deltas, a fold sums them every second, and a read adds what the last fold does not cover
(`queues/sql/fold.sql`, `queue_totals.sql`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from django.db import connection

from queues.models import Queue

DEAD_REASONS = ("rejected", "runtime_error", "lock_expired")

# Totals as people and metrics name them, from the engine's finer events.
TOTALS: dict[str, tuple[str, ...]] = {
    "published": ("published", "published_scheduled"),
    "delivered": ("delivered",),
    "redelivered": ("redelivered",),
    "acked": ("acked",),
    "nacked": ("nacked_ready", "nacked_scheduled", "dead_rejected", "dead_runtime_error"),
    "lease_expired": ("lease_expired", "dead_lock_expired"),
    "dead_lettered": tuple(f"dead_{reason}" for reason in DEAD_REASONS),
    "deduplicated": ("deduplicated",),
    "redriven": ("redriven",),
    # A dead letter is purged or expires where it lives, in its dead-letter queue; its source only forgets it.
    "purged": ("purged_ready", "purged_scheduled", "purged_leased", "purged_held"),
    "expired": ("expired_ready", "expired_held"),
    "promoted": ("promoted",),
    "returned": ("returned",),
}

_STATES_IN_QUEUE = ("ready", "scheduled", "leased", "held")


@dataclass(frozen=True)
class QueueNumbers:
    """One queue at one moment: counts in messages, ages in seconds, rates in messages/s over the last ten seconds."""

    queue_id: int
    name: str
    tenant: str
    is_dead_letter_queue: bool
    paused: bool
    closed: bool
    ready: int
    scheduled: int
    leased: int
    dead: int
    """Dead letters that died in this queue; for a dead-letter queue, those it holds."""
    oldest_ready_age_seconds: float | None
    """How long the message waiting longest has been visible; None when none is."""
    in_per_second: float
    out_per_second: float
    consumers: int
    """Consumers seen within the last 60 seconds."""
    totals: dict[str, int] = field(repr=False)
    dead_lettered_by_reason: dict[str, int] = field(repr=False)
    added_total: int
    """Every message that ever entered: published, redriven."""
    removed_total: int
    """Every message that ever left: acked, dead, purged, expired."""
    queue: Queue = field(repr=False)

    @property
    def alert_oldest_age_seconds(self) -> float:
        return self.queue.alert_oldest_age_seconds

    @property
    def alert_dead_letters(self) -> int:
        return self.queue.alert_dead_letters


def read_numbers(queue_ids: Sequence[int] | None = None) -> list[QueueNumbers]:
    """The numbers of these queues, of all when None, ordered by name. Two queries, however many queues there are."""
    queues = Queue.objects.select_related("tenant").order_by("name")
    if queue_ids is not None:
        queues = queues.filter(queue_id__in=list(queue_ids))
    with connection.cursor() as cursor:
        cursor.execute(
            "select queue_id, totals, earlier, earlier_seconds, oldest_visible_seconds, consumers"
            " from signalbox.queue_numbers(%s::integer[])",
            [list(queue_ids) if queue_ids is not None else None],
        )
        rows = {row[0]: row[1:] for row in cursor.fetchall()}
    return [_numbers(queue, *rows[queue.queue_id]) for queue in queues if queue.queue_id in rows]


def _numbers(
    queue: Queue,
    totals: list[int],
    earlier: list[int] | None,
    earlier_seconds: float | None,
    oldest_visible_seconds: float | None,
    consumers: int,
) -> QueueNumbers:
    earlier, seconds = earlier or totals, earlier_seconds or 1.0
    added, removed = _moved(totals, into_queue=True), _moved(totals, into_queue=False)
    return QueueNumbers(
        queue_id=queue.queue_id,
        name=queue.name,
        tenant=queue.tenant.name,
        is_dead_letter_queue=queue.is_dead_letter_queue,
        paused=queue.paused,
        closed=queue.closed,
        ready=_depth(totals, "ready"),
        scheduled=_depth(totals, "scheduled"),
        leased=_depth(totals, "leased"),
        dead=_depth(totals, "held" if queue.is_dead_letter_queue else "dead"),
        oldest_ready_age_seconds=oldest_visible_seconds,
        in_per_second=(added - _moved(earlier, into_queue=True)) / seconds,
        out_per_second=(removed - _moved(earlier, into_queue=False)) / seconds,
        consumers=consumers,
        totals={name: _total(totals, events) for name, events in TOTALS.items()},
        dead_lettered_by_reason={reason: _total(totals, (f"dead_{reason}",)) for reason in DEAD_REASONS},
        added_total=added,
        removed_total=removed,
        queue=queue,
    )


@dataclass(frozen=True)
class _Event:
    number: int
    from_state: str | None
    to_state: str | None


@cache
def _events() -> dict[str, _Event]:
    """The engine's events by name; constant once installed."""
    with connection.cursor() as cursor:
        cursor.execute("select name, event, from_state, to_state from signalbox.counter_event")
        return {name: _Event(number, source, target) for name, number, source, target in cursor.fetchall()}


def _depth(totals: list[int], state: str) -> int:
    return sum(
        totals[event.number - 1] * ((event.to_state == state) - (event.from_state == state))
        for event in _events().values()
    )


def _moved(totals: list[int], *, into_queue: bool) -> int:
    """Messages that entered the queue from outside, or left it."""
    return sum(
        totals[event.number - 1]
        for event in _events().values()
        if (event.to_state in _STATES_IN_QUEUE and event.from_state not in _STATES_IN_QUEUE) == into_queue
        and (event.from_state in _STATES_IN_QUEUE) != (event.to_state in _STATES_IN_QUEUE)
    )


def _total(totals: list[int], events: tuple[str, ...]) -> int:
    return sum(totals[_events()[name].number - 1] for name in events)
