"""Pages of a list of any length, by cursors instead of page numbers.

Cursors are opaque text for an address. A page begins right after, or ends right before, the row that a cursor names,
so the last page costs no more than the first.

Reading has a time limit. All rows are read at once; when that takes too long, a slice of the nearest rows is read,
then a slice twice as large, and so on until the time is over.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from queues.database.time_limits import LIST_MILLISECONDS, OutOfTime, fewer, slice_limit, time_limit
from queues.messages.lists import Mark

Row = TypeVar("Row")

PAGE_ROWS = 50


@dataclass(frozen=True)
class PagePosition:
    """Position of a page: before or after the row of a cursor, or at the start when both are empty."""

    before: str = ""
    after: str = ""

    @property
    def backwards(self) -> bool:
        return bool(self.before)


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Rows in the order of display. `before` and `after` are cursors, empty when there are no more rows.

    `searched_to` is set when the time was over: rows beyond that time were not read, and the cursor in the direction
    of reading continues there.
    """

    rows: Sequence[Row] = ()
    before: str = ""
    after: str = ""
    searched_to: datetime | None = None

    def cut_short(self, cursor: str, ended: Mark, place: PagePosition) -> Page[Row]:
        """Return this page as one whose search ran out of time at a cursor."""
        moment = ended.moment if isinstance(ended.moment, datetime) else None
        if place.backwards:
            return replace(self, before=cursor, searched_to=moment)
        return replace(self, after=cursor, searched_to=moment)


def page_of(found: Sequence[Row], size: int, place: PagePosition, cursors: Sequence[str]) -> Page[Row]:
    """Make a page from up to `size` + 1 rows in the direction of reading, and the cursor of each row."""
    rows, marks = list(found[:size]), list(cursors[:size])
    more = len(found) > size
    if place.backwards:
        rows.reverse()
        marks.reverse()
    more_before, more_after = (more, True) if place.backwards else (bool(place.after), more)
    return Page(rows, before=marks[0] if marks and more_before else "", after=marks[-1] if marks and more_after else "")


class Sliceable(Protocol):
    """A list that is read between two marks."""

    @property
    def first(self) -> Mark: ...

    @property
    def last(self) -> Mark: ...

    def rows(self, start: Mark, end: Mark, limit: int) -> list[tuple[Any, ...]]:
        """Read at most `limit` rows behind `start`, up to `end`."""

    def nth(self, start: Mark, number: int) -> Mark | None:
        """Return the mark of the row that is `number` rows after `start`, counting rows that do not match too."""


def read_in_time(
    source: Sliceable, start: Mark, limit: int, slice_rows: int
) -> tuple[list[tuple[Any, ...]], Mark | None]:
    """Return rows, and the mark where the time was over, or None. Raises `OutOfTime` when one row takes too long."""
    try:
        with time_limit(LIST_MILLISECONDS):
            return source.rows(start, source.last, limit), None
    except OutOfTime:
        pass
    rows: list[tuple[Any, ...]] = []
    ends_at = time.monotonic() + LIST_MILLISECONDS / 1000
    while True:
        end = source.nth(start, slice_rows)
        try:
            with slice_limit():
                rows += source.rows(start, end or source.last, limit)
        except OutOfTime:
            if slice_rows == 1:
                raise
            slice_rows = fewer(slice_rows)
            continue
        if end is None:
            return rows, None
        if len(rows) >= limit or time.monotonic() >= ends_at:
            return rows, end
        start, slice_rows = end, slice_rows * 2
