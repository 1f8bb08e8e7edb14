"""A page of a list without end: where it begins and ends, never how many pages there are.

Cursors are opaque text for an address. A page begins right after, or ends right before, the row a cursor names,
so the deepest page costs what the first does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, LiteralString, TypeVar

Row = TypeVar("Row")

PAGE_ROWS = 50


def payload_text(table: LiteralString) -> LiteralString:
    """The beginning of a payload, as SQL over this table; of a large one, which is elsewhere, how large it is."""
    return (
        f"case when {table}.body_sha256 is null then left({table}.payload::text, 2048)"
        f" else 'large body of ' || {table}.body_bytes || ' bytes' end"
    )


@dataclass(frozen=True)
class Place:
    """Where a page is: before or after the row of a cursor, or at the start when both are empty."""

    before: str = ""
    after: str = ""

    @property
    def backwards(self) -> bool:
        return bool(self.before)


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Rows in the order shown. `before` and `after` are cursors, empty where there is nothing more.

    `searched_to` is set when time ran out: nothing beyond that moment was looked at, and the cursor in the
    direction of reading leads on from there.
    """

    rows: Sequence[Row] = ()
    before: str = ""
    after: str = ""
    searched_to: datetime | None = None

    def cut_short(self, cursor: str, moment: datetime, place: Place) -> Page[Row]:
        """This page, when the search for its rows ended at a cursor for want of time."""
        if place.backwards:
            return replace(self, before=cursor, searched_to=moment)
        return replace(self, after=cursor, searched_to=moment)


def page_of(found: Sequence[Row], size: int, place: Place, cursors: Sequence[str]) -> Page[Row]:
    """A page from up to `size` + 1 rows in the direction of reading, with the cursor of each."""
    rows, marks = list(found[:size]), list(cursors[:size])
    more = len(found) > size
    if place.backwards:
        rows.reverse()
        marks.reverse()
    more_before, more_after = (more, True) if place.backwards else (bool(place.after), more)
    return Page(
        rows,
        before=marks[0] if marks and more_before else "",
        after=marks[-1] if marks and more_after else "",
    )
