"""The numbers of a queue: depth, age, rates and totals, exact at the moment of reading and never by scanning messages.

Verbs append deltas, an aggregation sums them every second, and a read adds those after the last aggregation
(`queues/sql/counters/aggregate_counters.sql`, `queue_totals.sql`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from queues import codes
from queues.database.query import fetch, named_rows, query_text
from queues.models import Queue


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
    waiting: int
    """Messages behind others of their group: not claimable until the group has room."""
    leased: int
    dead: int
    """Dead letters that died in this queue; for a dead-letter queue, those it holds."""
    oldest_ready_age_seconds: float | None
    """How long the oldest visible message has waited; None when no message is visible."""
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
    refused: dict[str, int] = field(default_factory=dict)
    """Sends refused, by reason: backlog, bytes, age, rate, `lane`, closed. Empty where nothing limits sending."""
    refusing: tuple[str, ...] = ()
    """The reasons for which sends were refused within the last minute, as upkeep noted them."""
    bytes_held: int | None = None
    """Estimated bytes of its messages; None without max_backlog_bytes."""
    dead_letter_queue: str = ""
    """The queue that keeps its dead letters, or the name that this queue will get with the first one."""

    @property
    def alert_oldest_age_seconds(self) -> float:
        return self.queue.alert_oldest_age_seconds

    @property
    def alert_dead_letters(self) -> int:
        return self.queue.alert_dead_letters


def read_numbers(queue_ids: Sequence[int] | None = None) -> list[QueueNumbers]:
    """Read the numbers of these queues (None: all queues), ordered by name. Two queries for any number of queues."""
    queues = Queue.objects.select_related("tenant").order_by("name")
    if queue_ids is not None:
        queues = queues.filter(queue_id__in=list(queue_ids))
    ids = {"ids": None if queue_ids is None else list(queue_ids)}
    rows = {row["queue_id"]: row for row in named_rows(_NUMBERS, ids)}
    return [_numbers(queue, rows[queue.queue_id]) for queue in queues if queue.queue_id in rows]


_NUMBERS = query_text("counters/queue_numbers")


def read_tenant_refusals() -> dict[str, dict[str, int]]:
    """Read how often quotas refused queues, retention or long_polls, by tenant and reason. One query.

    Only tenants and reasons with such a quota, now or earlier.
    """
    refused: dict[str, dict[str, int]] = {}
    for tenant, reason, count in fetch(_TENANT_REFUSALS):
        refused.setdefault(tenant, {})[reason] = count
    return refused


_TENANT_REFUSALS = query_text("counters/tenant_refusals")


@dataclass(frozen=True)
class TenantNumbers:
    """Sums over the queues of one tenant at one moment. A dead letter counts once, where it died."""

    tenant: str
    queues: int = 0
    ready: int = 0
    scheduled: int = 0
    waiting: int = 0
    leased: int = 0
    dead: int = 0
    oldest_ready_age_seconds: float | None = None
    """Age of the oldest visible message in any of its queues."""
    in_per_second: float = 0.0
    out_per_second: float = 0.0
    refusing: int = 0
    """Queues that have refused a send within the last minute."""

    @property
    def depth(self) -> int:
        """The messages that are not done and not in flight."""
        return self.ready + self.scheduled + self.waiting


def read_tenants() -> list[TenantNumbers]:
    """Read the numbers of every tenant with a queue, ordered by name: sums over its queues, in two queries."""
    queues_of: dict[str, list[QueueNumbers]] = {}
    for queue in read_numbers():
        queues_of.setdefault(queue.tenant, []).append(queue)
    return [_tenant(name, queues_of[name]) for name in sorted(queues_of)]


def _tenant(name: str, queues: Sequence[QueueNumbers]) -> TenantNumbers:
    ages = [queue.oldest_ready_age_seconds for queue in queues if queue.oldest_ready_age_seconds is not None]
    return TenantNumbers(
        tenant=name,
        queues=len(queues),
        ready=sum(queue.ready for queue in queues),
        scheduled=sum(queue.scheduled for queue in queues),
        waiting=sum(queue.waiting for queue in queues),
        leased=sum(queue.leased for queue in queues),
        dead=sum(queue.dead for queue in queues if not queue.is_dead_letter_queue),
        oldest_ready_age_seconds=max(ages, default=None),
        in_per_second=sum(queue.in_per_second for queue in queues),
        out_per_second=sum(queue.out_per_second for queue in queues),
        refusing=sum(bool(queue.refusing) for queue in queues),
    )


def _numbers(queue: Queue, row: dict[str, Any]) -> QueueNumbers:
    now, before = _sums_of(tuple(row["totals"])), _sums_of(tuple(row["earlier"] or row["totals"]))
    seconds, refused = row["earlier_seconds"] or 1.0, row["refused"]
    added, removed = now["added"], now["removed"]
    return QueueNumbers(
        queue_id=queue.queue_id,
        name=queue.name,
        tenant=queue.tenant.name,
        is_dead_letter_queue=queue.is_dead_letter_queue,
        paused=queue.paused or queue.is_held,
        closed=queue.closed,
        ready=now["ready"],
        scheduled=now["scheduled"],
        waiting=now["waiting"],
        leased=now["leased"],
        dead=now["held" if queue.is_dead_letter_queue else "dead"],
        oldest_ready_age_seconds=row["oldest_visible_seconds"],
        in_per_second=(added - before["added"]) / seconds,
        out_per_second=(removed - before["removed"]) / seconds,
        consumers=row["consumers"],
        totals={name: now[name] for name in codes.TOTALS},
        dead_lettered_by_reason={reason: now[f"dead_{reason}"] for reason in codes.DEAD_REASONS},
        added_total=added,
        removed_total=removed,
        queue=queue,
        refused=json.loads(refused) if isinstance(refused, str) else refused or {},
        refusing=tuple(row["refusing"] or ()),
        bytes_held=row["bytes_held"],
        dead_letter_queue=row["dead_letter_queue"],
    )


def named_totals(totals: Sequence[int]) -> dict[str, int]:
    """Name the entries of an array of totals, such as history keeps: totals, depths by state, added and removed."""
    known, others = _padded(totals), ("ready", "scheduled", "waiting", "leased", "added", "removed")
    return {name: _sum(known, name) for name in (*codes.TOTALS, *others)}


@cache
def _sums() -> dict[str, tuple[list[int], list[int]]]:
    """List the positions of totals that each number adds and subtracts: totals, depths, reasons of dead letters."""
    added = codes.totals() | {event.name: [event.number] for event in codes.EVENTS if event.to_state == "dead"}
    sums = {name: (events, list[int]()) for name, events in added.items()}
    sums |= {state: (codes.into(state), codes.out_of(state)) for state in codes.STATES}
    return {name: (_positions(into), _positions(out_of)) for name, (into, out_of) in sums.items()}


def _positions(events: Iterable[int]) -> list[int]:
    """Convert events to positions of a Python list: SQL counts from 1."""
    return [number - 1 for number in events]


def _padded(totals: Sequence[int]) -> list[int]:
    """Extend an array of totals to every event: a stored array lacks the events that were added after it."""
    return [*totals, *[0] * (codes.event_count() - len(totals))]


@lru_cache(maxsize=20_000)
def _sums_of(totals: tuple[int, ...]) -> dict[str, int]:
    """Compute the sums of an array of totals by name. Cached, since most queues do not change between two readings."""
    known = _padded(totals)
    return {name: _sum(known, name) for name in _sums()}


def _sum(totals: list[int], name: str) -> int:
    added, taken = _sums()[name]
    return sum(map(totals.__getitem__, added)) - sum(map(totals.__getitem__, taken))
