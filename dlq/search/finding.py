"""Finding dead letters: one SQL query for what a filter selects, shared by pages, counts and jobs.

The rows are sorted by their ids, which is the order of failure. The filter decides which indexes are read:

- For queues, classes or fingerprints, the index of each value is read, and the results are merged. A queue needs two
  indexes: of dead letters that died in the queue, and of those that the queue holds. No index has the order of both.
- For `name:`, the indexes of the few queues, classes and ids with such a name are read.
- For a value inside the payload, the matches of the GIN index are gathered first, if they are few. The planner takes
  every value for a common one, and would read all rows instead.
- Any other filter reads along the primary key; with a reach of some queues, along the index of each queue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import LiteralString

from dlq.filters import Literal, Predicate, Target, Term
from dlq.filters.compile import compile_terms
from dlq.search import anchors
from dlq.search.anchors import QUEUE_COLUMNS, Anchor
from dlq.search.checked_filter import CheckedFilter
from queues.database.query import Parameter, Query
from queues.dead_letters import ids as id_queries
from queues.dead_letters.ids import Order, Span


def find(filter: CheckedFilter, as_of: datetime, span: Span | None = None) -> Search:
    """Return a search for the rows that the filter selects, and look up its names. Ages count up to `as_of`."""
    search = Search(filter, as_of, span or Span(), filter.terms)
    found = anchors.of(filter.terms)
    if found is None:
        return search
    rest = tuple(other for other in filter.terms if other is not found.term)
    return replace(search, rest=rest, anchors=found.anchors)


@dataclass(frozen=True)
class Search:
    """Search made by `find`. `rest` are the terms of the filter without the one that the anchors replace."""

    filter: CheckedFilter
    as_of: datetime
    span: Span
    rest: tuple[Term, ...]
    anchors: tuple[Anchor, ...] | None = None
    """Values of indexed columns; a row must have one of them. None: no index narrows the search."""

    def within(self, span: Span) -> Search:
        """Return the same search in another span of ids."""
        return replace(self, span=span)

    def ids(self, limit: int, order: Order) -> Query:
        """Select at most `limit` ids."""
        if order is not Order.ANY and any(asks_the_payload(term) for term in self.filter.terms):
            walk = self._walked(limit, order, id_queries.many_gathered())
            return id_queries.gathered(self._held(self.filter.terms), walk, limit, order)
        return self._walked(limit, order)

    def ids_within(self, limit: int, order: Order = Order.OLDEST_FIRST) -> Query:
        """Select at most `limit` ids in a narrow span, without gathering matches outside of the span first."""
        return self._walked(limit, order)

    def _walked(self, limit: int, order: Order, when: LiteralString = "true") -> Query:
        """Read each anchor in its own branch, because the planner then knows which of them has few rows."""
        if self.anchors is None:
            return self._branch(when, None, limit, order)
        branches = [self._branch(when, anchor, limit, order) for anchor in self.anchors]
        return id_queries.merged(branches, limit, order) if branches else id_queries.NONE

    def _branch(self, when: LiteralString, anchor: Anchor | None, limit: int, order: Order) -> Query:
        """Read the rows of an anchor, or all rows. With a reach of some queues, the index of each queue is read."""
        anchored: LiteralString = when if anchor is None else f"{when} and {anchor[0]} = %s"
        values = [] if anchor is None else [anchor[1]]
        reach = self.filter.reach
        if reach.is_everything or (anchor is not None and anchor[0] in QUEUE_COLUMNS):
            return self._matching(anchored, values, self._held(self.rest), limit, order)
        found = self.span.holding(compile_terms(self.rest, Target.DEAD_LETTER, self.as_of))
        branch = self._matching(f"{anchored} and d.source_queue_id = q.queue_id", values, found, limit, order)
        return id_queries.within_reach(reach, branch, limit, order)

    def _matching(
        self, anchored: LiteralString, values: list[Parameter], condition: Predicate, limit: int, order: Order
    ) -> Query:
        held = Predicate(f"{anchored} and {condition.sql}", [*values, *condition.params])
        return id_queries.matching(held, limit, order, self.span.column)

    def _held(self, terms: tuple[Term, ...]) -> Predicate:
        """Return the condition of these terms, within reach and span."""
        return self.span.holding(self.filter.compile(Target.DEAD_LETTER, self.as_of, terms))


def asks_the_payload(term: Term) -> bool:
    """Tell whether the index of payloads serves the term."""
    return term.key == "payload" and not term.negated and all(isinstance(one, Literal) for one in term.values)
