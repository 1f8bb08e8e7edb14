"""Finding dead letters: one SQL query for what a filter selects, shared by pages, counts and jobs.

The rows come in the order of their ids, which is the order they died in, from whichever index gives that order:

- a filter that names a queue reads the queue's own indexes, one for those that died there and one for those it
  holds, since no index has the order of both;
- a filter that looks for a value inside the payload first gathers what the GIN index finds, as long as that is
  little: the planner takes every value for a common one and would rather walk through everything;
- any other walks along the primary key, or along the index of an error class or a fingerprint.
"""
# ruff: noqa: S608 - statements are put together from literals of this package; what people typed is bound

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any, LiteralString

from django.db import connection

from dlq.filters import Filter, Literal, Predicate, Target, Term

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


@dataclass(frozen=True)
class Search:
    """What to find: a filter whose ages count up to `as_of`, within a span of ids."""

    chosen: Filter
    as_of: datetime
    span: Span = Span()

    def within(self, span: Span) -> Search:
        """The same, elsewhere."""
        return replace(self, span=span)

    def ids(self, limit: int, order: Order) -> Query:
        """At most `limit` ids."""
        if order is not Order.ANY and any(_asks_the_payload(term) for term in self.chosen.terms):
            return self._gathered(limit, order)
        return self._walked(limit, order)

    def ids_within(self, limit: int) -> Query:
        """At most `limit` ids, the oldest first, in a narrow span: what matches elsewhere is never looked at."""
        return self._walked(limit, Order.OLDEST_FIRST)

    def _walked(self, limit: int, order: Order, when: LiteralString = "true") -> Query:
        queues = next((term for term in self.chosen.terms if _names_queues(term)), None)
        if queues is None:
            return self._branch(when, self.chosen, limit, order)
        rest = self.chosen.without_term(queues)
        died = self._branch(f"{when} and d.source_queue_id = q.queue_id", rest, limit, order)
        held = self._branch(f"{when} and d.queue_id = q.queue_id", rest, limit, order)
        return Query(
            "select distinct dead_letter_id from signalbox.queue q"
            f" cross join lateral (({died.sql}) union all ({held.sql})) one"
            f" where q.name = any(%s::text[]) {order.value} limit %s",
            [*died.params, *held.params, queues.literals, limit],
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

    def _branch(self, anchor: LiteralString, chosen: Filter, limit: int, order: Order) -> Query:
        found = self._predicate(chosen)
        return Query(
            f"select d.dead_letter_id from signalbox.dead_letter d where {anchor} and {found.sql}"
            f" {order.value} limit %s",
            [*found.params, limit],
        )

    def _predicate(self, chosen: Filter) -> Predicate:
        matching = chosen.compile(Target.DEAD_LETTER, self.as_of)
        return Predicate(
            f"d.dead_letter_id > %s and d.dead_letter_id <= %s and {matching.sql}",
            [self.span.after, self.span.through, *matching.params],
        )


def _names_queues(term: Term) -> bool:
    return term.key == "queue" and not term.negated


def _asks_the_payload(term: Term) -> bool:
    return term.key == "payload" and not term.negated and all(isinstance(one, Literal) for one in term.values)
