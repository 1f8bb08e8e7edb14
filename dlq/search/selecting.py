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

# Ids that one query covers, whether they match or not: a filter with few matches must not hold a transaction for long.
WINDOW_IDS = 5_000
# After this many seconds without a match a batch ends empty, and the job shows its progress.
SEARCH_SECONDS = 0.2
PATTERN_MILLISECONDS = 8_000  # for one window, if the filter has a pattern or a word; shorter than a lease
SOURCES_NAMED = 20
FINGERPRINTS_NAMED = 20
# Every window is read from an index in the order of ids. The planner's statistics are wrong here: they do not know
# the newest dead letters, and the gaps that a redrive leaves.
IN_INDEX_ORDER = {"enable_bitmapscan": "off", "enable_seqscan": "off", "enable_sort": "off"}


@dataclass(frozen=True)
class NextIds:
    """The next dead letters of a job, oldest first, and the cursor after them."""

    ids: Sequence[int]
    cursor: int


def bound_below(upper_bound: int) -> int:
    """Return the id after which a job begins to read: the highest id below the first dead letter up to a bound."""
    return (next_id(Span(0, upper_bound), Order.OLDEST_FIRST) or upper_bound + 1) - 1


def freeze(job: Selection, filter: CheckedFilter, upper_bound: int, as_of: datetime | None) -> list[str]:
    """Set the selection of a new job: the filter as canonical text, the bounds, the count and the source queues.

    Returns the fingerprints of the counted messages, the most frequent first.
    """
    if upper_bound < 0:
        raise InvalidArgument("upper_bound must be the id of a dead letter", "upper_bound")
    filter, now = filter.frozen(as_of), database_now()
    job.filter_text, job.as_of = str(filter), min(as_of or now, now)
    job.upper_bound = upper_bound = min(upper_bound, newest_id())  # messages that die later are not selected
    job.lower_bound = job.cursor = bound_below(upper_bound)
    seen = survey(find(filter, job.as_of, Span(through=upper_bound)))
    job.total_estimate, job.total_is_exact = seen.count.number, seen.count.exact
    job.source_queues = [name for name, _ in seen.sources.most_common(SOURCES_NAMED)]
    return [one for one, _ in seen.fingerprints.most_common(FINGERPRINTS_NAMED)]


def next_ids(job: Selection, limit: int) -> NextIds:
    """Return the next dead letters of the job, at most `limit`."""
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
    """Return the ids in one window. Raises `FilterError` when a pattern or a word takes too long."""
    query = search.ids_within(limit)
    if not search.filter.reads_bodies:
        return [row[0] for row in query.rows()]
    try:
        with time_limit(PATTERN_MILLISECONDS):
            return [row[0] for row in query.rows()]
    except OutOfTime:
        raise search.filter.too_slow() from None
