"""Queries for the ids of dead letters that match a condition on `d`, in the order in which they died."""
# ruff: noqa: S608 - statements are put together from literals of this file and conditions, whose values are bound

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import LiteralString

from queues.database.query import Predicate, Query, fetch
from queues.reach import Reach

LOWEST_ID, HIGHEST_ID = 1 - 2**63, 2**63 - 1
FEW = 10_000
"""Matches of an index without order that are cheap to gather and sort."""
NONE = Query("select dead_letter_id from signalbox.dead_letter where false", [])


class Order(Enum):
    """The order of ids; `ANY` is for counts."""

    OLDEST_FIRST = "asc"
    NEWEST_FIRST = "desc"
    ANY = ""

    def by(self, column: LiteralString = "dead_letter_id") -> str:
        """Return the clause that orders by a unique column."""
        return f"order by {column} {self.value}" if self.value else ""


@dataclass(frozen=True)
class Span:
    """Numbers above `after` and up to `through` in a unique column: the dead-letter id, or the message id."""

    after: int = LOWEST_ID
    through: int = HIGHEST_ID
    column: LiteralString = "dead_letter_id"

    def holding(self, condition: Predicate) -> Predicate:
        """Restrict a condition to this span."""
        sql = f"d.{self.column} > %s and d.{self.column} <= %s and {condition.sql}"
        return Predicate(sql, [self.after, self.through, *condition.params])


def matching(condition: Predicate, limit: int, order: Order, column: LiteralString = "dead_letter_id") -> Query:
    """Select at most `limit` ids that match the condition, ordered by a unique column."""
    return Query(
        f"select d.dead_letter_id from signalbox.dead_letter d where {condition.sql}"
        f" {order.by(f'd.{column}')} limit %s",
        [*condition.params, limit],
    )


def merged(branches: Sequence[Query], limit: int, order: Order) -> Query:
    """Select at most `limit` ids of several queries: of queues, for example, each by its own index."""
    union = " union ".join(f"({branch.sql})" for branch in branches)
    params = [param for branch in branches for param in branch.params]
    return Query(f"select dead_letter_id from ({union}) one {order.by()} limit %s", [*params, limit])


def within_reach(reach: Reach, branch: Query, limit: int, order: Order) -> Query:
    """Select at most `limit` ids of a query over each queue `q` within reach, by the index of that queue."""
    condition, reached = reach.condition()
    return Query(
        "select one.dead_letter_id from signalbox.queue q join signalbox.tenant o on o.tenant_id = q.tenant_id"
        f" cross join lateral ({branch.sql}) one where {condition} {order.by()} limit %s",
        [*branch.params, *reached, limit],
    )


def many_gathered() -> LiteralString:
    """Return the condition under which the walk of `gathered` runs: more than FEW dead letters match."""
    return f"(select count(*) from matching) > {FEW}"


def gathered(condition: Predicate, walk: Query, limit: int, order: Order) -> Query:
    """Select ids without an ordered index if at most FEW match, else by `walk`, whose condition is `many_gathered`."""
    return Query(
        "with matching as materialized ("
        f"select d.dead_letter_id from signalbox.dead_letter d where {condition.sql} limit {FEW + 1})"
        f" (select dead_letter_id from matching where (select count(*) from matching) <= {FEW}"
        f" {order.by()} limit %s)"
        f" union all ({walk.sql})",
        [*condition.params, limit, *walk.params],
    )


def newest_id() -> int:
    """Return the highest id of a dead letter at this moment; 0 when there are no dead letters."""
    return int(fetch("select coalesce(max(dead_letter_id), 0) from signalbox.dead_letter")[0][0])


def next_id(span: Span, order: Order) -> int | None:
    """Return the first id in a span, past the gaps that redrives leave."""
    first = nth_id(span, order, 1)
    return first[0] if first else None


def nth_id(span: Span, order: Order, number: int) -> tuple[int, datetime] | None:
    """Return the number at a position in a span, and when it died; None when there are fewer."""
    rows = fetch(
        f"select {span.column}, died_at from signalbox.dead_letter"
        f" where {span.column} > %s and {span.column} <= %s {order.by(span.column)} offset %s limit 1",
        [span.after, span.through, number - 1],
    )
    return (int(rows[0][0]), rows[0][1]) if rows else None


def ids_of_queues(names: Sequence[str]) -> tuple[int, ...]:
    """Return the ids of the queues of these names."""
    return tuple(Query("select queue_id from signalbox.queue where name = any(%s::text[])", [list(names)]).column())
