"""What the jobs over a filter share: freezing what it selects, and walking through it in bounded steps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dlq.cluster_members import widened
from dlq.counting import survey
from dlq.filters import Filter, parse
from dlq.finding import Query, Search, Span, database_now, find
from dlq.models import Selection
from dlq.patterns import too_slow
from dlq.time_limits import OutOfTime, local_settings, time_limit
from queues.errors import InvalidArgument

# One look covers so many ids, found or not: a filter that matches nothing for long must not hold a transaction.
WINDOW_IDS = 5_000
# After this many seconds without a match a batch ends with an empty hand, and the job shows how far it came.
SEARCH_SECONDS = 0.2
PATTERN_MILLISECONDS = 8_000  # for one look by a filter with a regular expression: less than a lease
SOURCES_NAMED = 20
# Every window is read from an index in its own order, whatever the statistics say: they know nothing of what died
# since, nor of the holes that a redrive leaves behind.
IN_INDEX_ORDER = {"enable_bitmapscan": "off", "enable_seqscan": "off", "enable_sort": "off"}


@dataclass(frozen=True)
class Chosen:
    """The next dead letters of a job, oldest first, and the cursor behind them."""

    ids: Sequence[int]
    cursor: int


def newest_id() -> int:
    """The bound that leaves out whatever dies from now on; 0 when there are no dead letters."""
    [(newest,)] = Query("select coalesce(max(dead_letter_id), 0) from signalbox.dead_letter", []).rows()
    return int(newest)


def bound_below(upper_bound: int) -> int:
    """The highest bound below everything up to another: where a walk begins."""
    return (_first_after(0, upper_bound) or upper_bound + 1) - 1


def as_looked_at(filter_text: str, as_of: datetime | None) -> Filter:
    """The filter with its clusters in full, or, of a look at some time, as that look had it.

    Who merges or splits clusters afterwards changes nothing: neither what was seen nor what is taken.
    """
    return widened(parse(filter_text)) if as_of is None else parse(filter_text)


def freeze(job: Selection, filter_text: str, upper_bound: int, as_of: datetime | None) -> None:
    """Fill in what a new job selects: the filter in canonical text, its bounds, and what it would find now."""
    if upper_bound < 0:
        raise InvalidArgument("upper_bound must be the id of a dead letter", "upper_bound")
    chosen, now = as_looked_at(filter_text, as_of), database_now()
    job.filter_text, job.as_of = str(chosen), min(as_of or now, now)
    job.upper_bound = upper_bound = min(upper_bound, newest_id())  # nobody selects what is yet to die
    job.lower_bound = job.cursor = bound_below(upper_bound)
    seen = survey(find(chosen, job.as_of, Span(through=upper_bound), frozen=True))
    job.total_estimate, job.total_is_exact = seen.count.number, seen.count.exact
    job.source_queues = [name for name, _ in seen.sources.most_common(SOURCES_NAMED)]


def next_ids(job: Selection, limit: int) -> Chosen:
    """The next dead letters that the job is to take, and no more than `limit` of them."""
    search = find(parse(job.filter_text), job.as_of, frozen=True)
    cursor, ends_at = job.cursor, time.monotonic() + SEARCH_SECONDS
    with local_settings(**IN_INDEX_ORDER):
        while (first := _first_after(cursor, job.upper_bound)) is not None:
            last = min(first + WINDOW_IDS - 1, job.upper_bound)
            ids = _ids(search.within(Span(cursor, last)), limit)
            cursor = ids[-1] if len(ids) == limit else last
            if ids or time.monotonic() > ends_at:
                return Chosen(ids, cursor)
    return Chosen([], job.upper_bound)


def _ids(search: Search, limit: int) -> list[int]:
    """What one window holds. A pattern may take for ever: then the job fails, and says which."""
    query = search.ids_within(limit)
    if not search.chosen.patterns:
        return [row[0] for row in query.rows()]
    try:
        with time_limit(PATTERN_MILLISECONDS):
            return [row[0] for row in query.rows()]
    except OutOfTime:
        raise too_slow(search.chosen) from None


def _first_after(cursor: int, upper_bound: int) -> int | None:
    """Ids have gaps as wide as what was sent again before; this jumps over them."""
    found = Query(
        "select dead_letter_id from signalbox.dead_letter where dead_letter_id > %s and dead_letter_id <= %s"
        " order by dead_letter_id limit 1",
        [cursor, upper_bound],
    ).rows()
    return int(found[0][0]) if found else None
