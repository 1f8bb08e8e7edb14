"""Selection of jobs over a filter: freezing what it selects, and walking through it in bounded steps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dlq.jobs.models import Selection
from dlq.search.checked_filter import CheckedFilter, stored_filter
from dlq.search.counting import survey
from dlq.search.finding import Search, find
from queues.database.query import database_now
from queues.database.time_limits import OutOfTime, local_settings, time_limit
from queues.dead_letters.ids import Order, Span, newest_id, next_id
from queues.errors import InvalidArgument

# Ids that one look covers, found or not: a filter that matches nothing for long must not hold a transaction.
WINDOW_IDS = 5_000
# After this many seconds without a match a batch ends empty, and the job shows its progress.
SEARCH_SECONDS = 0.2
PATTERN_MILLISECONDS = 8_000  # for one window, by a filter with a pattern or a word: less than a lease
SOURCES_NAMED = 20
# Every window is read from an index in its own order. The statistics would mislead the planner: they lack the newest
# dead letters, and the gaps that a redrive leaves.
IN_INDEX_ORDER = {"enable_bitmapscan": "off", "enable_seqscan": "off", "enable_sort": "off"}


@dataclass(frozen=True)
class NextIds:
    """The next dead letters of a job, oldest first, and the cursor behind them."""

    ids: Sequence[int]
    cursor: int


def bound_below(upper_bound: int) -> int:
    """Return the highest id below all dead letters up to a bound: a walk begins behind it."""
    return (next_id(Span(0, upper_bound), Order.OLDEST_FIRST) or upper_bound + 1) - 1


def freeze(job: Selection, filter: CheckedFilter, upper_bound: int, as_of: datetime | None) -> None:
    """Fill in what a new job selects: the filter in canonical text, its bounds, and what it would find now."""
    if upper_bound < 0:
        raise InvalidArgument("upper_bound must be the id of a dead letter", "upper_bound")
    filter, now = filter.frozen(as_of), database_now()
    job.filter_text, job.as_of = str(filter), min(as_of or now, now)
    job.upper_bound = upper_bound = min(upper_bound, newest_id())  # messages that die later are not selected
    job.lower_bound = job.cursor = bound_below(upper_bound)
    seen = survey(find(filter, job.as_of, Span(through=upper_bound)))
    job.total_estimate, job.total_is_exact = seen.count.number, seen.count.exact
    job.source_queues = [name for name, _ in seen.sources.most_common(SOURCES_NAMED)]


def next_ids(job: Selection, limit: int) -> NextIds:
    """The next dead letters that the job is to take, and no more than `limit` of them."""
    search = find(stored_filter(job.filter_text), job.as_of)
    cursor, ends_at = job.cursor, time.monotonic() + SEARCH_SECONDS
    with local_settings(**IN_INDEX_ORDER):
        while (first := next_id(Span(cursor, job.upper_bound), Order.OLDEST_FIRST)) is not None:
            last = min(first + WINDOW_IDS - 1, job.upper_bound)
            ids = _ids(search.within(Span(cursor, last)), limit)
            cursor = ids[-1] if len(ids) == limit else last
            if ids or time.monotonic() > ends_at:
                return NextIds(ids, cursor)
    return NextIds([], job.upper_bound)


def _ids(search: Search, limit: int) -> list[int]:
    """Return the ids in one window. Raises `FilterError` where a pattern or a word takes too long."""
    query = search.ids_within(limit)
    if not search.filter.reads_bodies:
        return [row[0] for row in query.rows()]
    try:
        with time_limit(PATTERN_MILLISECONDS):
            return [row[0] for row in query.rows()]
    except OutOfTime:
        raise search.filter.too_slow() from None
