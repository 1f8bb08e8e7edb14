"""Clusters in order, a page at a time, by an index of the folded ones.

Those that have deltas still to be folded, or that people merged, are summed up anew and sorted in: they are few, and
with them the order is that of the exact numbers. A list that is narrowed to queues sums up what died there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, LiteralString

from dlq.browse.pages import Page, Place, page_of
from dlq.clusters.reading import Cluster, reached_ids, read_clusters
from dlq.clusters.states import STATE_SQL, State
from dlq.filters import Filter, Literal, Term
from dlq.finding import Query
from dlq.time_limits import OutOfTime, time_limit
from queues.reach import EVERYTHING, Reach

PAGE_CLUSTERS = 25
LIST_CLUSTERS_MILLISECONDS = 2_000


class Sort(StrEnum):
    """What comes first. `WORST` shows those with something dead, `NEWEST` also what has been emptied since."""

    WORST = "worst"
    NEWEST = "newest"


@dataclass(frozen=True)
class Narrowing:
    """What of a filter on dead letters can be asked of clusters; `unasked` are the terms that cannot."""

    queue_ids: tuple[int, ...] | None = None
    classes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    state: State | None = None
    unasked: tuple[Term, ...] = field(default=())
    reached: tuple[int, ...] | None = None
    """The queues of which anything may be told; None is all."""

    @classmethod
    def of(cls, chosen: Filter, state: State | None = None) -> Narrowing:
        """Looks up the queues of `queue:` and `tenant:`, in one query."""
        known = {"queue", "tenant", "class", "reason", "fp"}
        asked = [term for term in chosen.terms if term.key in known and _plain(term)]
        asked = [term for index, term in enumerate(asked) if term.key not in {one.key for one in asked[:index]}]
        values = {term.key: tuple(term.literals) for term in asked}
        queue_ids, holders = _queues(values.get("queue"), values.get("tenant"))
        if holders:  # what a dead-letter queue holds is not counted by it
            asked = [term for term in asked if term.key not in ("queue", "tenant")]
            queue_ids = None
        reached = reached_ids(chosen.reach)
        if reached is not None:
            queue_ids = reached if queue_ids is None else tuple(set(queue_ids) & set(reached))
        return cls(
            queue_ids,
            values.get("class", ()),
            values.get("reason", ()),
            values.get("fp", ()),
            state,
            tuple(term for term in chosen.terms if term not in asked),
            reached,
        )

    @classmethod
    def of_holder(cls, name: str, reach: Reach = EVERYTHING) -> Narrowing:
        """What died in the queues that send their dead to this one, as far as they are reached."""
        senders, reached = tuple(row[0] for row in Query(_SENDERS, [name]).rows()), reached_ids(reach)
        return cls(senders if reached is None else tuple(set(senders) & set(reached)), reached=reached)


_SENDERS: LiteralString = """
select source.queue_id
from signalbox.queue q
cross join lateral signalbox.source_queues(q.queue_id) source(queue_id)
where q.name = %s
"""


def list_clusters(
    narrowing: Narrowing, sort: Sort = Sort.WORST, place: Place | None = None, size: int = PAGE_CLUSTERS
) -> Page[Cluster] | None:
    """A page of clusters; None when there was no time to sum them up."""
    place = place or Place()
    try:
        with time_limit(LIST_CLUSTERS_MILLISECONDS):
            rows = _keys(narrowing, sort, place, size + 1).rows()
            clusters = read_clusters([row[0] for row in rows], narrowing.queue_ids, narrowing.reached)
    except OutOfTime:
        return None
    cursors = {row[0]: _cursor(sort, row) for row in rows}
    return page_of(clusters, size, place, [cursors[one.fingerprint] for one in clusters])


def _plain(term: Term) -> bool:
    return not term.negated and all(isinstance(value, Literal) for value in term.values)


def _queues(named: Sequence[str] | None, tenants: Sequence[str] | None) -> tuple[tuple[int, ...] | None, bool]:
    """The queues asked for, None for all; and whether one of them holds dead letters."""
    if named is None and tenants is None:
        return None, False
    rows = Query(
        "select q.queue_id, q.is_dead_letter_queue and %s::text[] is not null"
        " from signalbox.queue q join signalbox.tenant t on t.tenant_id = q.tenant_id"
        " where (%s::text[] is null or q.name = any(%s::text[])) and (%s::text[] is null or t.name = any(%s::text[]))",
        [_list(named), _list(named), _list(named), _list(tenants), _list(tenants)],
    ).rows()
    return tuple(row[0] for row in rows), any(row[1] for row in rows)


def _list(values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else list(values)


def _keys(narrowing: Narrowing, sort: Sort, place: Place, limit: int) -> Query:
    """(fingerprint, dead, last seen) of a page, in the direction of reading."""
    wanted, params = _wanted(narrowing, sort, place)
    order = _ORDERS[sort, place.backwards]
    if narrowing.queue_ids is not None:
        rows, given = _ROWS_OF_QUEUES, [list(narrowing.queue_ids)] * 2
        return Query(f"{_BEGIN}{rows}{_COUNTED} where {wanted} {order} limit %s", [*given, *params, limit])
    walk = f"union all (select x.* {_WALK} and {wanted} {order} limit %s)"
    everything = f"{_BEGIN}{_ROWS_SPECIAL}{_SUMS} {walk}{_FROM_CANDIDATES} where {wanted} {order} limit %s"
    return Query(everything, [*params, limit, *params, limit])


def _wanted(narrowing: Narrowing, sort: Sort, place: Place) -> tuple[LiteralString, list[Any]]:
    conditions: list[LiteralString] = ["x.dead > 0"] if sort is Sort.WORST else ["true"]
    params: list[Any] = []
    for condition, values in (
        ("x.error_class = any(%s::text[])", narrowing.classes),
        ("x.reason = any(%s::text[])", narrowing.reasons),
        (_HEADS, narrowing.fingerprints),
    ):
        if values:
            conditions.append(condition)
            params.append(list(values))
    if narrowing.state:
        conditions.append(f"{STATE_SQL} = %s")
        params.append(narrowing.state.value)
    if (mark := _mark(sort, place)) is not None:
        conditions.append(_BEYOND[sort, place.backwards])
        params += mark
    return " and ".join(conditions), params


def _cursor(sort: Sort, row: tuple[Any, ...]) -> str:
    fingerprint, dead, last_seen = row
    number = dead if sort is Sort.WORST else (last_seen - _EPOCH) // timedelta(microseconds=1)
    return f"{number}~{fingerprint}"


def _mark(sort: Sort, place: Place) -> list[Any] | None:
    """What a cursor says; an address that somebody edited leads to the first page."""
    number, _, fingerprint = (place.before or place.after).partition("~")
    if not (number.isascii() and number.isdigit() and len(number) < 18 and fingerprint):
        return None
    if sort is Sort.WORST:
        return [int(number), fingerprint]
    return [_EPOCH + timedelta(microseconds=int(number)), fingerprint]


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_ORDERS: dict[tuple[Sort, bool], LiteralString] = {
    (Sort.WORST, False): "order by x.dead desc, x.fingerprint desc",
    (Sort.WORST, True): "order by x.dead, x.fingerprint",
    (Sort.NEWEST, False): "order by x.last_seen desc, x.fingerprint desc",
    (Sort.NEWEST, True): "order by x.last_seen, x.fingerprint",
}
_BEYOND: dict[tuple[Sort, bool], LiteralString] = {
    (Sort.WORST, False): "(x.dead, x.fingerprint) < (%s::bigint, %s::text)",
    (Sort.WORST, True): "(x.dead, x.fingerprint) > (%s::bigint, %s::text)",
    (Sort.NEWEST, False): "(x.last_seen, x.fingerprint) < (%s::timestamptz, %s::text)",
    (Sort.NEWEST, True): "(x.last_seen, x.fingerprint) > (%s::timestamptz, %s::text)",
}
_HEADS: LiteralString = (
    "x.fingerprint = any(array(select coalesce(m.head, f) from unnest(%s::text[]) f"
    " left join member m on m.fingerprint = f))"
)

_BEGIN: LiteralString = """
with member as materialized (
  select m.fingerprint, m.head from signalbox.cluster_member m
), pending as materialized (
  select u.* from signalbox.unfolded_clusters() u
), """

# Of the clusters that their own row does not say all of.
_ROWS_SPECIAL: LiteralString = """special as materialized (
  select p.fingerprint from pending p
  union
  select m.fingerprint from member m
  union
  select m.head from member m
), family as (
  select s.fingerprint from special s
  union
  select m.head from special s join member m on m.fingerprint = s.fingerprint
  union
  select o.fingerprint from special s join member m on m.fingerprint = s.fingerprint join member o on o.head = m.head
), part as (
  select c.fingerprint, c.dead, c.last_seen, c.again_at, c.error_class, c.reason
  from signalbox.failure_cluster c
  where c.fingerprint = any(array(select f.fingerprint from family f))
  union all
  select p.fingerprint, p.dead, p.last_at, p.again_at, p.error_class, p.reason from pending p
), """

_ROWS_OF_QUEUES: LiteralString = """part as (
  select q.fingerprint, q.dead, q.last_seen, c.again_at, c.error_class, c.reason
  from signalbox.failure_cluster_queue q
  join signalbox.failure_cluster c on c.fingerprint = q.fingerprint
  where q.queue_id = any(%s::integer[])
  union all
  select p.fingerprint, p.dead, p.last_at, p.again_at, p.error_class, p.reason
  from pending p
  where p.queue_id = any(%s::integer[])
), """

_SUMS: LiteralString = """candidate as (
  select coalesce(m.head, r.fingerprint) as fingerprint, sum(r.dead)::bigint as dead, max(r.last_seen) as last_seen,
    max(r.again_at) as again_at, max(r.error_class) as error_class, max(r.reason) as reason
  from part r
  left join member m on m.fingerprint = r.fingerprint
  group by 1
"""

_FROM_CANDIDATES: LiteralString = """)
select x.fingerprint, x.dead, x.last_seen
from candidate x
left join signalbox.cluster_care k on k.fingerprint = x.fingerprint"""

_COUNTED: LiteralString = _SUMS + _FROM_CANDIDATES

_WALK: LiteralString = """
  from (
    select c.fingerprint, c.dead, c.last_seen, c.again_at, c.error_class, c.reason from signalbox.failure_cluster c
  ) x
  left join signalbox.cluster_care k on k.fingerprint = x.fingerprint
  where not exists (select from special s where s.fingerprint = x.fingerprint)"""
