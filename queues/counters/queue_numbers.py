"""The numbers of a queue: depth, age, rates and totals, exact at the moment of reading and never by scanning messages.

Verbs append deltas, an aggregation sums them every second, and a read adds those after the last aggregation
(`queues/sql/counters/aggregate_counters.sql`, `queue_totals.sql`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from queues import codes
from queues.database.query import fetch, named_rows
from queues.database.sql_names import rendered
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
    """Sends refused, by reason: backlog, bytes, age, rate, `lane`, closed. Empty where nothing limits sending."""
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
    ids = {"ids": None if queue_ids is None else list(queue_ids)}
    rows = {row["queue_id"]: row for row in named_rows(_NUMBERS, ids)}
    return [_numbers(queue, rows[queue.queue_id]) for queue in queues if queue.queue_id in rows]


# Refusals are kept for the few queues that something limits.
_NUMBERS = rendered("""
select n.queue_id, n.totals, n.earlier, n.earlier_seconds, n.oldest_visible_seconds, n.consumers,
  a.refused, a.refusing, a.bytes_held,
  case
    when q.is_dead_letter_queue and q.dead_letter_queue is null then q.name
    when d.queue_id is not null then d.name
    when taken.queue_id is not null then signalbox._reserved_name(q.name, q.dead_letter_queue_id)
    else q.name || '-dlq'
  end as dead_letter_queue
from signalbox.queue_numbers(%(ids)s::integer[]) n
join signalbox.queue q on q.queue_id = n.queue_id
left join signalbox.queue d on d.queue_id = q.dead_letter_queue_id
left join signalbox.queue taken on taken.name = q.name || '-dlq'
left join (
  select r.queue_id, jsonb_object_agg(r.reason, signalbox._read_counter(r.counter)) as refused,
    array_agg(r.reason order by r.reason)
      filter (where r.refused_at > clock_timestamp() - interval '60 seconds' and r.reason <> 'closed') as refusing,
    max(case when q.max_backlog_bytes > 0 then signalbox._read_counter(g.bytes_held) end) as bytes_held
  from signalbox.refusal r
  join signalbox.queue q on q.queue_id = r.queue_id
    and (q.admission_flags & {flag.limits_sending} > 0 or q.group_max_waiting > 0 or q.closed)
  left join signalbox.admission_counter g on g.queue_id = r.queue_id
  group by r.queue_id
) a on a.queue_id = n.queue_id
""")


def read_tenant_refusals() -> dict[str, dict[str, int]]:
    """Read by tenant and reason what quotas refused other than sends: queues, retention, long_polls. One query.

    Only tenants and reasons that have, or once had, such a quota.
    """
    refused: dict[str, dict[str, int]] = {}
    for tenant, reason, count in fetch(_TENANT_REFUSALS):
        refused.setdefault(tenant, {})[reason] = count
    return refused


_TENANT_REFUSALS = """
select t.name, r.reason, signalbox._read_counter(r.counter)
from signalbox.tenant_refusal r
join signalbox.tenant t using (tenant_id)
order by 1, 2
"""


@dataclass(frozen=True)
class TenantNumbers:
    """One tenant at one moment: what its queues have together. A dead letter counts once, where it died."""

    tenant: str
    queues: int = 0
    ready: int = 0
    scheduled: int = 0
    waiting: int = 0
    leased: int = 0
    dead: int = 0
    oldest_ready_age_seconds: float | None = None
    """Of the message that has been visible longest in any of its queues."""
    in_per_second: float = 0.0
    out_per_second: float = 0.0
    refusing: int = 0
    """Queues that have refused a send within the last minute."""

    @property
    def depth(self) -> int:
        """The messages that are not done and not in flight."""
        return self.ready + self.scheduled + self.waiting


def read_tenants() -> list[TenantNumbers]:
    """The numbers of every tenant that has a queue, ordered by name: sums over its queues, in two queries."""
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
    now, before = _whole(row["totals"]), _whole(row["earlier"] or row["totals"])
    seconds, refused = row["earlier_seconds"] or 1.0, row["refused"]
    added, removed = _sum(now, "added"), _sum(now, "removed")
    return QueueNumbers(
        queue_id=queue.queue_id,
        name=queue.name,
        tenant=queue.tenant.name,
        is_dead_letter_queue=queue.is_dead_letter_queue,
        paused=queue.paused or queue.is_held,
        closed=queue.closed,
        ready=_sum(now, "ready"),
        scheduled=_sum(now, "scheduled"),
        waiting=_sum(now, "waiting"),
        leased=_sum(now, "leased"),
        dead=_sum(now, "held" if queue.is_dead_letter_queue else "dead"),
        oldest_ready_age_seconds=row["oldest_visible_seconds"],
        in_per_second=(added - _sum(before, "added")) / seconds,
        out_per_second=(removed - _sum(before, "removed")) / seconds,
        consumers=row["consumers"],
        totals={name: _sum(now, name) for name in codes.TOTALS},
        dead_lettered_by_reason={reason: _sum(now, f"dead_{reason}") for reason in codes.DEAD_REASONS},
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
    known, others = _whole(totals), ("ready", "scheduled", "waiting", "leased", "added", "removed")
    return {name: _sum(known, name) for name in (*codes.TOTALS, *others)}


@cache
def _sums() -> dict[str, tuple[list[int], list[int]]]:
    """The positions in an array of totals that each number adds and subtracts: totals, depths, reasons of deaths."""
    added = codes.totals() | {event.name: [event.number] for event in codes.EVENTS if event.to_state == "dead"}
    sums = {name: (events, list[int]()) for name, events in added.items()}
    sums |= {state: (codes.into(state), codes.out_of(state)) for state in codes.STATES}
    return {name: (_positions(into), _positions(out_of)) for name, (into, out_of) in sums.items()}


def _positions(events: Iterable[int]) -> list[int]:
    """Convert events to positions of a Python list: SQL counts from 1."""
    return [number - 1 for number in events]


def _whole(totals: Sequence[int]) -> list[int]:
    """Totals with an entry for each event: a stored array has none yet for events that are younger than it."""
    return [*totals, *[0] * (codes.event_count() - len(totals))]


def _sum(totals: list[int], name: str) -> int:
    added, taken = _sums()[name]
    return sum(map(totals.__getitem__, added)) - sum(map(totals.__getitem__, taken))
