"""A page of dead letters, the newest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from dlq.search.checked_filter import CheckedFilter
from dlq.search.finding import Search, find
from dlq.search.pages import PAGE_ROWS, Page, PagePosition, page_of, read_in_time
from queues.database.time_limits import OutOfTime
from queues.dead_letters import rows as dead_letter_rows
from queues.dead_letters.ids import HIGHEST_ID, Order, Span, nth_id
from queues.messages.lists import Mark

SLICE_ROWS = 5_000


@dataclass(frozen=True)
class DeadLetterRow:
    """Row of a list of dead letters. `queue` holds it; `payload_text` is JSON, cut to 2,048 characters."""

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


def dead_letters(
    filter: CheckedFilter,
    place: PagePosition | None = None,
    *,
    now: datetime | None = None,
    through: int = HIGHEST_ID,
    size: int = PAGE_ROWS,
    with_payloads: bool = True,
) -> Page[DeadLetterRow]:
    """Return a page of what the filter selects among ids up to `through`. Raises `FilterError`.

    One query, and one for the queues that the filter names; a few more when time runs out. Without
    `with_payloads` no payload leaves the database.
    """
    place = place or PagePosition()
    search = find(filter, now or timezone.now(), _span(place, through))
    found = _List(search, place.backwards, with_payloads)
    try:
        rows, ended = read_in_time(found, found.first, size + 1, SLICE_ROWS)
    except OutOfTime:
        raise filter.too_slow() from None
    shown = [DeadLetterRow(*row) for row in rows]
    page = page_of(shown, size, place, [str(row.dead_letter_id) for row in shown])
    return page if ended is None or len(shown) > size else page.cut_short(str(ended.number), ended, place)


@dataclass(frozen=True)
class _List:
    """Results of a search in one direction, read between ids."""

    search: Search
    backwards: bool
    with_payloads: bool

    @property
    def order(self) -> Order:
        return Order.OLDEST_FIRST if self.backwards else Order.NEWEST_FIRST

    @property
    def first(self) -> Mark:
        return Mark("-infinity", self.search.span.after if self.backwards else self.search.span.through + 1)

    @property
    def last(self) -> Mark:
        return Mark("infinity", self.search.span.through if self.backwards else self.search.span.after + 1)

    def rows(self, start: Mark, end: Mark, limit: int) -> list[tuple[Any, ...]]:
        ids = self.search.within(self._span(start, end)).ids(limit, self.order)
        return dead_letter_rows.listed(ids, self.order, with_payloads=self.with_payloads).rows()

    def nth(self, start: Mark, number: int) -> Mark | None:
        found = nth_id(self._span(start, self.last), self.order, number)
        return Mark(found[1], found[0]) if found else None

    def _span(self, start: Mark, end: Mark) -> Span:
        if self.backwards:
            return Span(start.number, end.number)
        return Span(end.number - 1, start.number - 1)


def _span(place: PagePosition, through: int) -> Span:
    if (newer_than := _id(place.before)) is not None:
        return Span(after=newer_than, through=through)
    if (older_than := _id(place.after)) is not None:
        return Span(through=min(through, older_than - 1))
    return Span(through=through)


def _id(cursor: str) -> int | None:
    """Return the id in a cursor; an address that was edited leads to the first page."""
    digits = cursor.removeprefix("-")
    return int(cursor) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None
