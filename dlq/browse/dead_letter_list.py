"""Dead letters, the newest first, and what kills most of them."""
# ruff: noqa: S608 - statements are put together from literals of this package; what people typed is bound

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from dlq.browse.pages import PAGE_ROWS, Page, Place, page_of, payload_text
from dlq.filters import Filter
from dlq.finding import HIGHEST_ID, Order, Query, Search, Span, find
from dlq.patterns import too_slow
from dlq.time_limits import LIST_MILLISECONDS, OutOfTime, fewer, slice_limit, time_limit

# When there is no time to look everywhere, the nearest so many are looked at, then twice as many, while time lasts.
SLICE_ROWS = 5_000
NEWEST_LETTERS = 1_000


@dataclass(frozen=True)
class DeadLetterRow:
    """What a list shows of a dead letter. `queue` holds it; `payload_text` is JSON, cut to 2,048 characters."""

    dead_letter_id: int
    message_id: int
    queue: str
    source_queue: str
    reason: str
    error_class: str | None
    error: str | None
    fingerprint: str
    receive_count: int
    redrive_count: int
    priority: int
    group_id: str | None
    consumer: str | None
    sent_at: datetime
    last_failed_at: datetime
    died_at: datetime
    payload_text: str | None


@dataclass(frozen=True)
class ErrorClass:
    """How many dead letters an error class has among those looked at, and when the last of them died."""

    error_class: str | None
    count: int
    last_died_at: datetime


def dead_letters(
    chosen: Filter,
    place: Place | None = None,
    *,
    now: datetime | None = None,
    through: int = HIGHEST_ID,
    size: int = PAGE_ROWS,
    with_payloads: bool = True,
) -> Page[DeadLetterRow]:
    """A page of what the filter selects among ids up to `through`. Raises `FilterError`.

    One query, and one for the queues that the filter names; a few more when time runs out. Without
    `with_payloads` no payload leaves the database.
    """
    place = place or Place()
    search = find(chosen, now or timezone.now(), _span(place, through))
    order = Order.OLDEST_FIRST if place.backwards else Order.NEWEST_FIRST
    rows, horizon = _in_time(search, order, size + 1, lambda at: _listed(at, size + 1, order, with_payloads))
    found = [DeadLetterRow(*row) for row in rows]
    page = page_of(found, size, place, [str(one.dead_letter_id) for one in found])
    return page if horizon is None or len(found) > size else page.cut_short(*horizon, place)


def top_error_classes(chosen: Filter, *, now: datetime | None = None, most: int = 10) -> list[ErrorClass]:
    """The commonest error classes of the newest 1,000 dead letters that the filter selects."""
    search = find(chosen, now or timezone.now())
    rows, _ = _in_time(search, Order.NEWEST_FIRST, NEWEST_LETTERS, _classes)
    newest = rows[:NEWEST_LETTERS]
    last_died_at: dict[str | None, datetime] = {}
    for error_class, died_at in newest:
        last_died_at[error_class] = max(died_at, last_died_at.get(error_class, died_at))
    counted = Counter(error_class for error_class, _ in newest).most_common(most)
    return [ErrorClass(error_class, count, last_died_at[error_class]) for error_class, count in counted]


def _span(place: Place, through: int) -> Span:
    if (newer_than := _id(place.before)) is not None:
        return Span(after=newer_than, through=through)
    if (older_than := _id(place.after)) is not None:
        return Span(through=min(through, older_than - 1))
    return Span(through=through)


def _id(cursor: str) -> int | None:
    """The id in a cursor; an address that somebody edited leads to the first page."""
    digits = cursor.removeprefix("-")
    return int(cursor) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None


def _listed(search: Search, limit: int, order: Order, with_payloads: bool) -> Query:
    ids = search.ids(limit, order)
    payload = payload_text("d") if with_payloads else "null"
    return Query(
        "select d.dead_letter_id, d.message_id, q.name, d.source_queue, d.reason, d.error_class,"
        " left(d.error, 1000), d.fingerprint, d.receive_count, d.redrive_count, d.priority, d.group_id,"
        f" d.consumer, d.sent_at, d.last_failed_at, d.died_at, {payload}"
        f" from ({ids.sql}) found"
        " join signalbox.dead_letter d using (dead_letter_id)"
        f" join signalbox.queue q on q.queue_id = d.queue_id {order.value}",
        ids.params,
    )


def _classes(search: Search) -> Query:
    ids = search.ids(NEWEST_LETTERS, Order.NEWEST_FIRST)
    return Query(
        "select d.error_class, d.died_at"
        f" from ({ids.sql}) found join signalbox.dead_letter d using (dead_letter_id) order by dead_letter_id desc",
        ids.params,
    )


def _in_time(
    search: Search, order: Order, enough: int, query: Callable[[Search], Query]
) -> tuple[list[tuple[Any, ...]], tuple[str, datetime] | None]:
    """Rows of the query; when it takes too long, of as many of the nearest as time allows, and where those end."""
    try:
        with time_limit(LIST_MILLISECONDS):
            return query(search).rows(), None
    except OutOfTime:
        pass
    rows: list[tuple[Any, ...]] = []
    span, slice_rows, ends_at = search.span, SLICE_ROWS, time.monotonic() + LIST_MILLISECONDS / 1000
    while True:
        end = _nth(span, order, slice_rows).rows()
        near, rest = _split(span, order, end[0][0]) if end else (span, None)
        try:
            with slice_limit():
                rows += query(search.within(near)).rows()
        except OutOfTime:
            if slice_rows == 1:
                raise too_slow(search.chosen) from None
            slice_rows = fewer(slice_rows)
            continue
        if rest is None:
            return rows, None
        if len(rows) >= enough or time.monotonic() >= ends_at:
            return rows, (str(end[0][0]), end[0][1])
        span, slice_rows = rest, slice_rows * 2


def _nth(span: Span, order: Order, number: int) -> Query:
    return Query(
        "select dead_letter_id, died_at from signalbox.dead_letter"
        f" where dead_letter_id > %s and dead_letter_id <= %s {order.value} offset %s limit 1",
        [span.after, span.through, number - 1],
    )


def _split(span: Span, order: Order, last_id: int) -> tuple[Span, Span]:
    """What there is up to an id in the direction of reading, and what comes after."""
    if order is Order.OLDEST_FIRST:
        return Span(span.after, last_id), Span(last_id, span.through)
    return Span(last_id - 1, span.through), Span(span.after, last_id - 1)
