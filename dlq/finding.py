"""Finding dead letters: one SQL query for what a filter selects, shared by pages, counts and jobs.

The rows come in the order of their ids, which is the order they died in, from whichever index gives that order:

- a filter that names a queue reads the queue's own indexes, one for those that died there and one for those it
  holds, since no index has the order of both;
- a filter that looks for a value inside the payload first gathers what the GIN index finds, as long as that is
  little: the planner takes every value for a common one and would rather walk through everything;
- any other walks along the primary key, or along the index of an error class or a fingerprint; for whoever reaches
  some queues only, along the index of each of those.
"""
# ruff: noqa: S608 - statements are put together from literals of this package; what people typed is bound

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any, LiteralString

from django.db import connection

from dlq.cluster_members import widened
from dlq.filters import Filter, Literal, Predicate, Target, Term
from dlq.patterns import check_patterns
from queues.reach import EVERYTHING

LOWEST_ID, HIGHEST_ID = 1 - 2**63, 2**63 - 1
# Matches of an index without order that are cheap to gather and sort.
FEW = 10_000


class Order(Enum):
    """The order of what is found; `ANY` is for those who count."""

    OLDEST_FIRST = "order by dead_letter_id"
    NEWEST_FIRST = "order by dead_letter_id desc"
    ANY = ""


@dataclass(frozen=True)
class Span:
    """Dead-letter ids above `after` and up to `through`."""

    after: int = LOWEST_ID
    through: int = HIGHEST_ID


@dataclass(frozen=True)
class Query:
    """A statement and its parameters."""

    sql: str
    params: list[Any]

    def rows(self) -> list[tuple[Any, ...]]:
        """Run it."""
        with connection.cursor() as cursor:
            cursor.execute(self.sql, self.params)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows


def database_now() -> datetime:
    """The clock by which dead letters died."""
    now: datetime = Query("select clock_timestamp()", []).rows()[0][0]
    return now


def find(chosen: Filter, as_of: datetime, span: Span | None = None, *, frozen: bool = False) -> Search:
    """A search for what the filter selects, ages counted up to `as_of`; looks up the queues that it names.

    A fingerprint stands for all that people merged into its cluster; in a `frozen` filter for itself alone.
    Raises `FilterError` for a pattern that PostgreSQL cannot read.
    """
    check_patterns(chosen)
    chosen = chosen if frozen else widened(chosen)
    named = next((term for term in chosen.terms if term.key == "queue" and not term.negated), None)
    if named is None:
        return _of_fingerprints(Search(chosen, as_of, span or Span(), chosen))
    found = Query("select queue_id from signalbox.queue where name = any(%s::text[])", [named.literals])
    queue_ids = tuple(int(row[0]) for row in found.rows())
    return Search(chosen, as_of, span or Span(), chosen.without_term(named), queue_ids)


@dataclass(frozen=True)
class Search:
    """Made by `find`. `rest` is the filter without the term that names the queues, or several fingerprints."""

    chosen: Filter
    as_of: datetime
    span: Span
    rest: Filter
    queue_ids: tuple[int, ...] | None = None
    fingerprints: tuple[str, ...] = ()

    def within(self, span: Span) -> Search:
        """The same, elsewhere."""
        return replace(self, span=span)

    def ids(self, limit: int, order: Order) -> Query:
        """At most `limit` ids."""
        if order is not Order.ANY and any(_asks_the_payload(term) for term in self.chosen.terms):
            return self._gathered(limit, order)
        return self._walked(limit, order)

    def ids_within(self, limit: int, order: Order = Order.OLDEST_FIRST) -> Query:
        """At most `limit` ids in a narrow span: what matches elsewhere is never looked at."""
        return self._walked(limit, order)

    def _walked(self, limit: int, order: Order, when: LiteralString = "true") -> Query:
        """Of queues, each by its own number: only then the planner knows which of them has few."""
        if self.queue_ids is None and not self.fingerprints:
            if not self.chosen.reach.is_everything:
                return self._reached(when, limit, order)
            return self._branch(when, [], self.chosen, limit, order)
        anchors: list[LiteralString] = ["d.source_queue_id = %s", "d.queue_id = %s"]
        branches = [
            self._branch(f"{when} and {anchor}", [queue_id], self.rest, limit, order)
            for queue_id in self.queue_ids or ()
            for anchor in anchors
        ] + [
            self._branch(f"{when} and d.fingerprint = %s", [one], self.rest, limit, order) for one in self.fingerprints
        ]
        if not branches:
            return Query("select dead_letter_id from signalbox.dead_letter where false", [])
        union = " union ".join(f"({branch.sql})" for branch in branches)
        params = [param for branch in branches for param in branch.params]
        return Query(f"select dead_letter_id from ({union}) one {order.value} limit %s", [*params, limit])

    def _reached(self, when: LiteralString, limit: int, order: Order) -> Query:
        """Of some queues, each by its own index: it costs nothing how many dead letters others have."""
        condition, reached = self.chosen.reach.condition()
        found = self._branch(
            f"{when} and d.source_queue_id = q.queue_id", [], self.chosen.within(EVERYTHING), limit, order
        )
        return Query(
            "select one.dead_letter_id from signalbox.queue q join signalbox.tenant o on o.tenant_id = q.tenant_id"
            f" cross join lateral ({found.sql}) one where {condition} {order.value} limit %s",
            [*found.params, *reached, limit],
        )

    def _gathered(self, limit: int, order: Order) -> Query:
        found = self._predicate(self.chosen)
        walk = self._walked(limit, order, f"(select count(*) from matching) > {FEW}")
        return Query(
            "with matching as materialized ("
            f"select d.dead_letter_id from signalbox.dead_letter d where {found.sql} limit {FEW + 1})"
            f" (select dead_letter_id from matching where (select count(*) from matching) <= {FEW}"
            f" {order.value} limit %s)"
            f" union all ({walk.sql})",
            [*found.params, limit, *walk.params],
        )

    def _branch(self, anchor: LiteralString, anchored: list[Any], chosen: Filter, limit: int, order: Order) -> Query:
        found = self._predicate(chosen)
        return Query(
            f"select d.dead_letter_id from signalbox.dead_letter d where {anchor} and {found.sql}"
            f" {order.value} limit %s",
            [*anchored, *found.params, limit],
        )

    def _predicate(self, chosen: Filter) -> Predicate:
        matching = chosen.compile(Target.DEAD_LETTER, self.as_of)
        return Predicate(
            f"d.dead_letter_id > %s and d.dead_letter_id <= %s and {matching.sql}",
            [self.span.after, self.span.through, *matching.params],
        )


def _of_fingerprints(search: Search) -> Search:
    """Of several fingerprints each is read from its own place in their index."""
    several = next((one for one in search.chosen.terms if one.key == "fp" and not one.negated), None)
    if several is None or len(several.values) == 1 or len(several.literals) < len(several.values):
        return search
    return replace(
        search, rest=search.chosen.without_term(several), fingerprints=tuple(dict.fromkeys(several.literals))
    )


def _asks_the_payload(term: Term) -> bool:
    return term.key == "payload" and not term.negated and all(isinstance(one, Literal) for one in term.values)
