"""The order of failure groups: the keys of a page, by an index of the counted ones.

Groups with deltas that are not aggregated yet, and merged groups, are summed up and sorted in: they are few, and with
them the order is exact. A page for some queues sums up the dead letters of these queues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, LiteralString

from queues.database.names import QUEUE_IDS_LIKE
from queues.database.query import Query


class Sort(StrEnum):
    """Order of failure groups. `WORST` lists only groups with dead letters, `NEWEST` also emptied ones."""

    WORST = "worst"
    NEWEST = "newest"


@dataclass(frozen=True)
class Word:
    """Patterns of LIKE; one must match the class, a queue's name or, with `in_errors`, the error."""

    like: Sequence[str]
    in_errors: bool


@dataclass(frozen=True)
class Wanted:
    """Conditions on failure groups; an empty sequence means any, and no queues means all."""

    queue_ids: Sequence[int] | None = None
    classes: Sequence[str] = ()
    reasons: Sequence[str] = ()
    fingerprints: Sequence[str] = ()
    state: str | None = None
    words: Sequence[Word] = ()


def keys(
    wanted: Wanted, sort: Sort, beyond: tuple[int | datetime, str] | None, limit: int, *, backwards: bool
) -> Query:
    """Select (fingerprint, dead, last seen) of a page, in the direction of reading, beyond a position."""
    where, params = _conditions(wanted, sort, beyond, backwards)
    column, direction = _COLUMNS[sort], "" if backwards else " desc"
    order = f"order by {column}{direction}, x.fingerprint{direction}"
    if wanted.queue_ids is not None:
        sql = f"{_BEGIN}{_ROWS_OF_QUEUES}{_SUMS}{_FROM_CANDIDATES} where {where} {order} limit %s"
        return Query(sql, [*[list(wanted.queue_ids)] * 2, *params, limit])
    walk = f"union all (select x.* {_WALK} and {where} {order} limit %s)"
    sql = f"{_BEGIN}{_ROWS_SPECIAL}{_SUMS} {walk}{_FROM_CANDIDATES} where {where} {order} limit %s"
    return Query(sql, [*params, limit, *params, limit])


def _conditions(
    wanted: Wanted, sort: Sort, beyond: tuple[int | datetime, str] | None, backwards: bool
) -> tuple[LiteralString, list[Any]]:
    conditions: list[LiteralString] = ["x.dead > 0"] if sort is Sort.WORST else ["true"]
    params: list[Any] = []
    for condition, values in (
        (_CLASSES, wanted.classes),
        ("x.reason = any(%s::text[])", wanted.reasons),
        (_HEADS, wanted.fingerprints),
    ):
        if values:
            conditions.append(condition)
            params += [list(values)] * condition.count("%s")
    for word in wanted.words:
        condition = _IN_NAMES_OR_ERRORS if word.in_errors else _IN_NAMES
        conditions.append(f"({condition})")
        params += [list(word.like)] * condition.count("%s")
    if wanted.state:
        conditions.append(f"{_STATE} = %s")
        params.append(wanted.state)
    if beyond is not None:
        kind: LiteralString = "bigint" if sort is Sort.WORST else "timestamptz"
        conditions.append(f"({_COLUMNS[sort]}, x.fingerprint) {'>' if backwards else '<'} (%s::{kind}, %s::text)")
        params += beyond
    return " and ".join(conditions), params


# The full name of the class, or its last part, as in a filter.
_CLASSES: LiteralString = (
    "(x.error_class = any(%s::text[]) or substring(x.error_class from '[^.]*$') = any(%s::text[]))"
)
# In each condition the counted rows and those that are still to be added.
_QUEUES_OF_GROUP: LiteralString = """
select n.queue_id from signalbox.failure_cluster_queue n where n.fingerprint = x.fingerprint
union all
select p.queue_id from pending p where p.fingerprint = x.fingerprint"""
_ERRORS_OF_GROUP: LiteralString = """
select e.error from signalbox.failure_cluster e where e.fingerprint = x.fingerprint
union all
select p.error from pending p where p.fingerprint = x.fingerprint"""
_IN_NAMES: LiteralString = f"x.error_class ilike any(%s::text[]) or array({_QUEUES_OF_GROUP}) && {QUEUE_IDS_LIKE}"
_IN_NAMES_OR_ERRORS: LiteralString = (
    f"{_IN_NAMES} or array_to_string(array({_ERRORS_OF_GROUP}), chr(10)) ilike any(%s::text[])"
)
# The state of a failure group `x` with its note `k`, as `dlq.failure_groups.reading` computes it.
_STATE: LiteralString = """case
    when k.state = 'resolved' and x.last_seen > k.state_changed_at then 'regressed'
    when x.again_at > coalesce(k.state_changed_at, '-infinity') then 'regressed'
    else coalesce(k.state, 'open')
  end"""
_COLUMNS: dict[Sort, LiteralString] = {Sort.WORST: "x.dead", Sort.NEWEST: "x.last_seen"}
_HEADS: LiteralString = (
    "x.fingerprint = any(array(select coalesce(m.head, f) from unnest(%s::text[]) f"
    " left join member m on m.fingerprint = f))"
)

_BEGIN: LiteralString = """
with member as materialized (
  select m.fingerprint, m.head from signalbox.failure_group_member m
), pending as materialized (
  select u.* from signalbox.pending_failure_groups() u
), """

# Rows of failure groups whose own row is not complete: merged ones, and those with pending deltas.
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
left join signalbox.failure_group_note k on k.fingerprint = x.fingerprint"""

_WALK: LiteralString = """
  from (
    select c.fingerprint, c.dead, c.last_seen, c.again_at, c.error_class, c.reason from signalbox.failure_cluster c
  ) x
  left join signalbox.failure_group_note k on k.fingerprint = x.fingerprint
  where not exists (select from special s where s.fingerprint = x.fingerprint)"""
