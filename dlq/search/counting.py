"""Counts in bounded time: exact if the time is enough, else a lower bound.

A count is read through a cursor in growing portions under one time limit. When the time is over, the rows that were
counted before are still known.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from dlq.search.finding import Search
from queues.database.query import Query
from queues.database.time_limits import COUNT_MILLISECONDS, OutOfTime, limit_statements, time_limit
from queues.dead_letters import rows as dead_letter_rows
from queues.dead_letters.ids import FEW, Order

COUNT_LIMIT = FEW
# Each portion ends at a round number: 1, 10, 100, 1,000, and one more than the limit.
_PORTIONS = (1, 9, 90, 900, COUNT_LIMIT - 1_000 + 1)


@dataclass(frozen=True)
class BoundedCount:
    """Number that is exact, or a lower bound."""

    number: int
    exact: bool

    def __str__(self) -> str:
        """Return the number for people: `42`, `10,000+`, `more than 99`, or `unknown` when no row was read in time."""
        if self.exact:
            return f"{self.number:,}"
        if self.number > COUNT_LIMIT:
            return f"{COUNT_LIMIT:,}+"
        return f"more than {self.number - 1:,}" if self.number else "unknown"


@dataclass
class Survey:
    """Survey of the counted dead letters: their queues, their fingerprints, and how many were redriven before."""

    count: BoundedCount
    sources: Counter[str] = field(default_factory=Counter)
    fingerprints: Counter[str] = field(default_factory=Counter)
    redriven_before: int = 0
    max_redrives: int = 0


def count_rows(query: Query) -> BoundedCount:
    """Count the rows of a query that has its own limit of COUNT_LIMIT + 1."""
    return read_in_time(query, lambda rows: None)


def survey(search: Search) -> Survey:
    """Count the dead letters that the search finds, their queues, fingerprints and redrives."""
    seen = Survey(BoundedCount(0, exact=False))

    def look(rows: Iterable[tuple[Any, ...]]) -> None:
        for source_queue, redrive_count, fingerprint in rows:
            seen.sources[source_queue] += 1
            seen.fingerprints[fingerprint] += 1
            seen.redriven_before += redrive_count > 0
            seen.max_redrives = max(seen.max_redrives, redrive_count)

    seen.count = read_in_time(dead_letter_rows.sources_and_redrives(search.ids(COUNT_LIMIT + 1, Order.ANY)), look)
    return seen


def read_in_time(query: Query, look: Callable[[Iterable[tuple[Any, ...]]], None]) -> BoundedCount:
    """Count the rows of a query that has a limit, and look at them, for at most COUNT_MILLISECONDS."""
    number, ends_at = 0, time.monotonic() + COUNT_MILLISECONDS / 1000
    try:
        # The planner is to expect that all rows are fetched; for a cursor it would otherwise expect a tenth.
        with time_limit(COUNT_MILLISECONDS, cursor_tuple_fraction="1"), connection.cursor() as cursor:
            cursor.execute(f"declare counted no scroll cursor for {query.sql}", query.params)
            for portion in _PORTIONS:
                limit_statements((ends_at - time.monotonic()) * 1000)
                cursor.execute(f"fetch {portion} from counted")
                rows = cursor.fetchall()
                look(rows)
                number += len(rows)
                if len(rows) < portion:
                    cursor.execute("close counted")
                    return BoundedCount(number, exact=True)
            cursor.execute("close counted")
    except OutOfTime:
        pass
    return BoundedCount(number, exact=False)
