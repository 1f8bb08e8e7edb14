"""A page of dead letters, by the time of their failure or by their message ids."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, LiteralString

from django.utils import timezone

from dlq.search import anchors
from dlq.search.checked_filter import CheckedFilter
from dlq.search.finding import Search, asks_the_payload, find
from dlq.search.pages import PAGE_ROWS, Page, PagePosition, page_of, read_in_time
from queues.database.time_limits import OutOfTime
from queues.dead_letters import rows as dead_letter_rows
from queues.dead_letters.ids import HIGHEST_ID, Order, Span, nth_id
from queues.messages.lists import Mark

SLICE_ROWS = 5_000


class Sort(StrEnum):
    """Order of dead letters. Each order has an index, so the last page costs no more than the first."""

    NEWEST = "-failed"
    OLDEST = "failed"
    HIGHEST_ID = "-message"
    LOWEST_ID = "message"

    @property
    def ascending(self) -> bool:
        return not self.value.startswith("-")

    @property
    def column(self) -> LiteralString:
        """Return the unique column of the order."""
        return "dead_letter_id" if self in {Sort.NEWEST, Sort.OLDEST} else "message_id"


def sorts(filter: CheckedFilter) -> tuple[Sort, ...]:
    """Return the orders that cost no more than the newest first.

    The indexes of queues, classes, fingerprints and payloads have the order of failures only.
    """
    narrowed = any(anchors.narrows(term) or asks_the_payload(term) for term in filter.terms)
    return (Sort.NEWEST, Sort.OLDEST) if narrowed or not filter.reach.is_everything else tuple(Sort)


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
    sort: Sort = Sort.NEWEST,
) -> Page[DeadLetterRow]:
    """Return a page of what the filter selects among ids up to `through`. Raises `FilterError`.

    One query, and up to two for the names in the filter; a few more when time runs out. Without `with_payloads` no
    payload leaves the database. An order that is not among `sorts` counts as the newest first.
    """
    place, sort = place or PagePosition(), sort if sort in sorts(filter) else Sort.NEWEST
    ascending = sort.ascending is not place.backwards
    search = find(filter, now or timezone.now(), _span(place, through, ascending, sort.column))
    found = _List(search, ascending, with_payloads)
    try:
        rows, ended = read_in_time(found, found.first, size + 1, SLICE_ROWS)
    except OutOfTime:
        raise filter.too_slow() from None
    shown = [DeadLetterRow(*row) for row in rows]
    page = page_of(shown, size, place, [str(getattr(row, sort.column)) for row in shown])
    return page if ended is None or len(shown) > size else page.cut_short(str(ended.number), ended, place)


@dataclass(frozen=True)
class _List:
    """Results of a search in one direction, read between ids."""

    search: Search
    ascending: bool
    with_payloads: bool

    @property
    def order(self) -> Order:
        return Order.OLDEST_FIRST if self.ascending else Order.NEWEST_FIRST

    @property
    def first(self) -> Mark:
        return Mark("-infinity", self.search.span.after if self.ascending else self.search.span.through + 1)

    @property
    def last(self) -> Mark:
        return Mark("infinity", self.search.span.through if self.ascending else self.search.span.after + 1)

    def rows(self, start: Mark, end: Mark, limit: int) -> list[tuple[Any, ...]]:
        ids = self.search.within(self._span(start, end)).ids(limit, self.order)
        column = self.search.span.column
        return dead_letter_rows.listed(ids, self.order, with_payloads=self.with_payloads, column=column).rows()

    def nth(self, start: Mark, number: int) -> Mark | None:
        found = nth_id(self._span(start, self.last), self.order, number)
        return Mark(found[1], found[0]) if found else None

    def _span(self, start: Mark, end: Mark) -> Span:
        column = self.search.span.column
        if self.ascending:
            return Span(start.number, end.number, column)
        return Span(end.number - 1, start.number - 1, column)


def _span(place: PagePosition, through: int, ascending: bool, column: LiteralString) -> Span:
    beyond = _id(place.before or place.after)
    if beyond is None:
        return Span(through=through, column=column)
    if ascending:
        return Span(beyond, through, column)
    return Span(through=min(through, beyond - 1), column=column)


def _id(cursor: str) -> int | None:
    """Return the id in a cursor; an address that was edited leads to the first page."""
    digits = cursor.removeprefix("-")
    return int(cursor) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None
