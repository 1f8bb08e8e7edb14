"""Finding dead letters: one SQL query for what a filter selects, shared by pages, counts and jobs.

The rows come in the order of their ids, which is the order they died in, from whichever index gives that order:

- a filter that names a queue reads the queue's own indexes, one for those that died there and one for those it
  holds, since no index has the order of both;
- a filter that looks for a value inside the payload first gathers what the GIN index finds, as long as that is
  little: the planner takes every value for a common one and would rather walk through everything;
- any other walks along the primary key, or along the index of an error class or a fingerprint; for a reach of some
  queues only, along the index of each of those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import LiteralString

from dlq.filters import Literal, Predicate, Target, Term
from dlq.filters.compile import compile_terms
from dlq.search.checked_filter import CheckedFilter
from queues.database.query import Parameter, Query
from queues.dead_letters import ids as id_queries
from queues.dead_letters.ids import Order, Span


def find(filter: CheckedFilter, as_of: datetime, span: Span | None = None) -> Search:
    """Return a search for what the filter selects, ages counted up to `as_of`; look up the queues that it names."""
    search = Search(filter, as_of, span or Span(), filter.terms)
    if (named := next((term for term in filter.terms if term.key == "queue" and not term.negated), None)) is not None:
        return replace(search, rest=_without(filter, named), queue_ids=id_queries.ids_of_queues(named.literals))
    several = next((term for term in filter.terms if term.key == "fp" and not term.negated), None)
    if several is None or len(several.values) == 1 or len(several.literals) < len(several.values):
        return search
    return replace(search, rest=_without(filter, several), fingerprints=tuple(dict.fromkeys(several.literals)))


def _without(filter: CheckedFilter, term: Term) -> tuple[Term, ...]:
    return tuple(other for other in filter.terms if other is not term)


@dataclass(frozen=True)
class Search:
    """Search made by `find`. `rest` are the terms but the one that names the queues, or several fingerprints."""

    filter: CheckedFilter
    as_of: datetime
    span: Span
    rest: tuple[Term, ...]
    queue_ids: tuple[int, ...] | None = None
    fingerprints: tuple[str, ...] = ()

    def within(self, span: Span) -> Search:
        """Return this search among the ids of another span."""
        return replace(self, span=span)

    def ids(self, limit: int, order: Order) -> Query:
        """Select at most `limit` ids."""
        if order is not Order.ANY and any(_asks_the_payload(term) for term in self.filter.terms):
            walk = self._walked(limit, order, id_queries.many_gathered())
            return id_queries.gathered(self._held(self.filter.terms), walk, limit, order)
        return self._walked(limit, order)

    def ids_within(self, limit: int, order: Order = Order.OLDEST_FIRST) -> Query:
        """Select at most `limit` ids in a narrow span: what matches elsewhere is never looked at."""
        return self._walked(limit, order)

    def _walked(self, limit: int, order: Order, when: LiteralString = "true") -> Query:
        """Read queues, each by its own number: only then the planner knows which of them has few."""
        if self.queue_ids is None and not self.fingerprints:
            if self.filter.reach.is_everything:
                return self._branch(when, [], self._held(self.filter.terms), limit, order)
            found = self.span.holding(compile_terms(self.filter.terms, Target.DEAD_LETTER, self.as_of))
            branch = self._branch(f"{when} and d.source_queue_id = q.queue_id", [], found, limit, order)
            return id_queries.within_reach(self.filter.reach, branch, limit, order)
        rest = self._held(self.rest)
        anchors: list[tuple[LiteralString, Parameter]] = [
            *((column, one) for one in self.queue_ids or () for column in ("d.source_queue_id", "d.queue_id")),
            *(("d.fingerprint", one) for one in self.fingerprints),
        ]
        branches = [self._branch(f"{when} and {column} = %s", [one], rest, limit, order) for column, one in anchors]
        return id_queries.merged(branches, limit, order) if branches else id_queries.NONE

    def _branch(
        self, anchor: LiteralString, anchored: list[Parameter], condition: Predicate, limit: int, order: Order
    ) -> Query:
        held = Predicate(f"{anchor} and {condition.sql}", [*anchored, *condition.params])
        return id_queries.matching(held, limit, order)

    def _held(self, terms: tuple[Term, ...]) -> Predicate:
        """Return the condition of these terms, within reach and span."""
        return self.span.holding(self.filter.compile(Target.DEAD_LETTER, self.as_of, terms))


def _asks_the_payload(term: Term) -> bool:
    return term.key == "payload" and not term.negated and all(isinstance(one, Literal) for one in term.values)
