"""A queue in numbers: depth, age, rates and totals, exact at the moment of reading and never by scanning messages.

Verbs append deltas, a fold sums them every second, and a read adds what the last fold does not cover
(`queues/sql/fold.sql`, `queue_totals.sql`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from django.db import connection

from queues.models import Queue

DEAD_REASONS = ("rejected", "runtime_error", "lock_expired")

# Totals as people and metrics name them, from the engine's finer events.
TOTALS: dict[str, tuple[str, ...]] = {
    "published": ("published", "published_scheduled", "published_waiting"),
    "delivered": ("delivered",),
    "redelivered": ("redelivered",),
    "acked": ("acked",),
    "nacked": ("nacked_ready", "nacked_scheduled", "dead_rejected", "dead_runtime_error"),
    "lease_expired": ("lease_expired", "dead_lock_expired"),
    "dead_lettered": tuple(f"dead_{reason}" for reason in DEAD_REASONS),
    "deduplicated": ("deduplicated",),
    "redriven": ("redriven",),
    # As with what is purged, a dead letter counts where it is kept.
    "restored": ("restored_ready", "restored_scheduled", "restored_waiting", "restored_held"),
    "aged": ("aged",),
    "released_from_lane": ("released_from_lane",),
    # A dead letter is purged or expires where it lives, in its dead-letter queue; its source only forgets it.
    "purged": ("purged_ready", "purged_scheduled", "purged_waiting", "purged_leased", "purged_held"),
    "expired": ("expired_ready", "expired_waiting", "expired_held"),
    "promoted": ("promoted", "promoted_waiting"),
    "returned": ("returned",),
}

_STATES_IN_QUEUE = ("ready", "scheduled", "waiting", "leased", "held")


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
    """Behind others of their lane: not claimable until it has room."""
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
    refused: dict[str, int] = field(default_factory=dict)
    """Sends refused, by reason: backlog, bytes, age, rate, lane, closed. Empty where nothing limits sending."""
    refusing: tuple[str, ...] = ()
    """The reasons for which upkeep has seen sends refused within the last minute."""
    bytes_held: int | None = None
    """What its messages weigh, as estimated; None where the queue's settings do not limit it."""
    dead_letter_queue: str = ""
    """Where its dead letters go; before its first dead letter, the name that this queue will get."""

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
        cursor.execute(_NUMBERS, [list(queue_ids) if queue_ids is not None else None])
        rows = {row[0]: row[1:] for row in cursor.fetchall()}
    return [_numbers(queue, *rows[queue.queue_id]) for queue in queues if queue.queue_id in rows]


# Refusals are kept for the few queues that something limits.
_NUMBERS = """
select n.queue_id, n.totals, n.earlier, n.earlier_seconds, n.oldest_visible_seconds, n.consumers,
  a.refused, a.refusing, a.bytes_held,
  case
    when q.is_dead_letter_queue and q.dead_letter_queue is null then q.name
    when d.queue_id is not null then d.name
    when taken.queue_id is not null then signalbox._reserved_name(q.name, q.dead_letter_queue_id)
    else q.name || '-dlq'
  end
from signalbox.queue_numbers(%s::integer[]) n
join signalbox.queue q on q.queue_id = n.queue_id
left join signalbox.queue d on d.queue_id = q.dead_letter_queue_id
left join signalbox.queue taken on taken.name = q.name || '-dlq'
left join (
  select r.queue_id, jsonb_object_agg(r.reason, signalbox._register(r.counter)) as refused,
    array_agg(r.reason order by r.reason)
      filter (where r.refused_at > clock_timestamp() - interval '60 seconds' and r.reason <> 'closed') as refusing,
    max(case when q.max_backlog_bytes > 0 then signalbox._register(g.bytes_held) end) as bytes_held
  from signalbox.refusal r
  join signalbox.queue q on q.queue_id = r.queue_id and (q.guards & 1 > 0 or q.lane_max_waiting > 0 or q.closed)
  left join signalbox.gauge g on g.queue_id = r.queue_id
  group by r.queue_id
) a on a.queue_id = n.queue_id
"""


def read_tenant_refusals() -> dict[str, dict[str, int]]:
    """By tenant, what its quotas refused that is no send, by reason: queues, retention, long_polls. One query.

    Only tenants and reasons that have, or once had, such a quota.
    """
    refused: dict[str, dict[str, int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_TENANT_REFUSALS)
        for tenant, reason, count in cursor.fetchall():
            refused.setdefault(tenant, {})[reason] = count
    return refused


_TENANT_REFUSALS = """
select t.name, r.reason, signalbox._register(r.counter)
from signalbox.tenant_refusal r
join signalbox.tenant t using (tenant_id)
order by 1, 2
"""


@dataclass(frozen=True)
class TenantNumbers:
    """One tenant at one moment: what its queues have together. A dead letter counts once, where it died."""

    tenant: str
    queues: int
    ready: int
    scheduled: int
    waiting: int
    leased: int
    dead: int
    oldest_ready_age_seconds: float | None
    """Of the message that has been visible longest in any of its queues."""
    in_per_second: float
    out_per_second: float
    refusing: int
    """Queues that have refused a send within the last minute."""

    @property
    def depth(self) -> int:
        """Everything that is still to be done and in nobody's hands."""
        return self.ready + self.scheduled + self.waiting


def read_tenants() -> list[TenantNumbers]:
    """The numbers of every tenant that has a queue, ordered by name: sums over its queues, in two queries."""
    return by_tenant(read_numbers())


def by_tenant(numbers: Sequence[QueueNumbers]) -> list[TenantNumbers]:
    """The same from numbers that were read already."""
    queues_of: dict[str, list[QueueNumbers]] = {}
    for queue in numbers:
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


def _numbers(
    queue: Queue,
    totals: list[int],
    earlier: list[int] | None,
    earlier_seconds: float | None,
    oldest_visible_seconds: float | None,
    consumers: int,
    refused: str | dict[str, int] | None,
    refusing: list[str] | None,
    bytes_held: int | None,
    dead_letter_queue: str,
) -> QueueNumbers:
    earlier, seconds = earlier or totals, earlier_seconds or 1.0
    sums = _sums()
    totals, earlier = _whole(totals, sums.events), _whole(earlier, sums.events)
    added, removed = _total(totals, sums.added), _total(totals, sums.removed)
    return QueueNumbers(
        queue_id=queue.queue_id,
        name=queue.name,
        tenant=queue.tenant.name,
        is_dead_letter_queue=queue.is_dead_letter_queue,
        paused=queue.paused or queue.is_held,
        closed=queue.closed,
        ready=_depth(totals, "ready"),
        scheduled=_depth(totals, "scheduled"),
        waiting=_depth(totals, "waiting"),
        leased=_depth(totals, "leased"),
        dead=_depth(totals, "held" if queue.is_dead_letter_queue else "dead"),
        oldest_ready_age_seconds=oldest_visible_seconds,
        in_per_second=(added - _total(earlier, sums.added)) / seconds,
        out_per_second=(removed - _total(earlier, sums.removed)) / seconds,
        consumers=consumers,
        totals={name: _total(totals, positions) for name, positions in sums.totals.items()},
        dead_lettered_by_reason={reason: _total(totals, places) for reason, places in sums.dead_lettered.items()},
        added_total=added,
        removed_total=removed,
        queue=queue,
        refused=json.loads(refused) if isinstance(refused, str) else refused or {},
        refusing=tuple(refusing or ()),
        bytes_held=bytes_held,
        dead_letter_queue=dead_letter_queue,
    )


def named_totals(totals: Sequence[int]) -> dict[str, int]:
    """What a totals array says, such as history keeps: every entry of TOTALS, depths by state, added and removed."""
    sums, known = _sums(), [*totals, *[0] * 48]  # an array has no entry yet for events that are younger than it
    return {
        **{name: _total(known, positions) for name, positions in sums.totals.items()},
        **{state: _depth(known, state) for state in ("ready", "scheduled", "waiting", "leased")},
        "added": _total(known, sums.added),
        "removed": _total(known, sums.removed),
    }


@dataclass(frozen=True)
class _Sums:
    """Which entries of a totals array make up each number: positions to add and positions to take away."""

    depths: dict[str, tuple[list[int], list[int]]]
    totals: dict[str, list[int]]
    dead_lettered: dict[str, list[int]]
    added: list[int]
    removed: list[int]
    events: int
    """How many entries an array needs for all of them; an old one may be shorter."""


@cache
def _sums() -> _Sums:
    """From the engine's events, which are constant once installed."""
    with connection.cursor() as cursor:
        cursor.execute("select event, name, from_state, to_state from signalbox.counter_event")
        events = [(number - 1, name, source, target) for number, name, source, target in cursor.fetchall()]
    position = {name: place for place, name, _, _ in events}
    entered = [event for event in events if event[3] in _STATES_IN_QUEUE and event[2] not in _STATES_IN_QUEUE]
    left = [event for event in events if event[2] in _STATES_IN_QUEUE and event[3] not in _STATES_IN_QUEUE]
    return _Sums(
        depths={
            state: ([e[0] for e in events if e[3] == state], [e[0] for e in events if e[2] == state])
            for state in (*_STATES_IN_QUEUE, "dead")
        },
        totals={total: [position[name] for name in names] for total, names in TOTALS.items()},
        dead_lettered={reason: [position[f"dead_{reason}"]] for reason in DEAD_REASONS},
        added=[event[0] for event in entered],
        removed=[event[0] for event in left],
        events=max(position.values()) + 1,
    )


def _whole(totals: list[int], events: int) -> list[int]:
    return totals if len(totals) >= events else totals + [0] * (events - len(totals))


def _depth(totals: list[int], state: str) -> int:
    into, out_of = _sums().depths[state]
    return _total(totals, into) - _total(totals, out_of)


def _total(totals: list[int], positions: list[int]) -> int:
    return sum(map(totals.__getitem__, positions))
