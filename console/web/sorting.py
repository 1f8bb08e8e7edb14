"""Lists sorted on the server by any of their columns, which the page names.

A short list is read as a whole. Of a list of any length the newest rows are read, as many as a page can sort at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db.models import QuerySet
from django.http import HttpRequest

from console.web import pagination
from console.web.pagination import SortLink, sort_links
from console.web.wording import number
from dlq.search.pages import Page, PagePosition

Row = TypeVar("Row")
Value = str | float | datetime | None
Columns = Mapping[str, Callable[[Row], Value]]
MAX_SORTED = 1_000
"""Rows of a long list that a page sorts by another column than its time."""


@dataclass(frozen=True)
class Sorted(Generic[Row]):
    """Rows in the order of the address, and the links of the columns."""

    rows: list[Row]
    links: Mapping[str, SortLink]


@dataclass(frozen=True)
class SortedPage(Generic[Row]):
    """A page of a list of any length, the links of the columns, and a sentence for the foot about the order."""

    page: Page[Row]
    links: Mapping[str, SortLink]
    limits: str


def arrange_newest(
    request: HttpRequest, query: QuerySet[Any], field: str, columns: Columns[Any], *, time: str = ""
) -> SortedPage[Any]:
    """Sort a list of any length by the column in `?sort=`. One query, which the index of `field` bounds.

    The column called `time` follows `field`: it sorts the whole list, and the newest rows come first without `?sort=`.
    Another column sorts the newest MAX_SORTED rows, and the foot of the list says so.
    """
    whole = {time: f"-{time}"} if time else {}
    if asks_for(request, columns):
        return arrange_first(request, list(query.order_by(f"-{field}")[:MAX_SORTED]), columns, whole)
    sort = time if time and request.GET.get("sort") == time else f"-{time}"
    page = pagination.by_id(query, field, request, oldest_first=sort == time)
    return SortedPage(page, links(request, sort, page.rows, columns, whole), "")


def asks_for(request: HttpRequest, columns: Columns[Any]) -> bool:
    """Return whether the address sorts by one of these columns."""
    return request.GET.get("sort", "")[:100].removeprefix("-") in columns


def arrange_first(
    request: HttpRequest, rows: Sequence[Row], columns: Columns[Row], whole: Mapping[str, str], kind: str = "newest"
) -> SortedPage[Row]:
    """Sort the first MAX_SORTED rows of a longer list. `whole` has the columns that sort the whole list by an index.

    `kind` says which rows these are, for the foot of the list.
    """
    arranged, size, at = arrange(request, rows, columns).rows, pagination.size(request), pagination.place(request)
    start = min(pagination.whole(at.before or at.after) or 0, len(rows))
    page = Page(
        arranged[start : start + size],
        before=str(max(start - size, 0)) if start else "",
        after=str(start + size) if start + size < len(rows) else "",
    )
    limits = f", sorted among the {kind} {number(MAX_SORTED)}" if len(rows) == MAX_SORTED else ""
    return SortedPage(page, links(request, request.GET["sort"][:100], rows, columns, whole), limits)


def arrange_read(
    request: HttpRequest,
    read: Callable[[PagePosition, int], Page[Row]],
    columns: Columns[Row],
    sort: str,
    whole: Mapping[str, str],
    kind: str = "newest",
) -> SortedPage[Row]:
    """Sort a list of which `read` returns a page: the whole list in the order `sort`, or its first rows by a column.

    If the first rows are not found in time, the list keeps the order `sort`, and its foot says so.
    """
    limits = ""
    if asks_for(request, columns):
        found = read(PagePosition(), MAX_SORTED)
        if not found.searched_to:
            return arrange_first(request, found.rows, columns, whole, kind)
        limits = ", not sorted: the search takes too long"
    page = read(pagination.place(request), pagination.size(request))
    return SortedPage(page, links(request, sort, page.rows, columns, whole), limits)


def links(
    request: HttpRequest, sort: str, rows: Sequence[Row], columns: Columns[Row], whole: Mapping[str, str]
) -> dict[str, SortLink]:
    """Return the links of the columns, those of `whole` included; `sort` is the order in force."""
    return sort_links(request, sort, {**_firsts(rows, columns), **whole})


def _firsts(rows: Sequence[Row], columns: Columns[Row]) -> dict[str, str]:
    return {name: name if _is_text(rows, of) else f"-{name}" for name, of in columns.items()}


def arrange(request: HttpRequest, rows: Iterable[Row], columns: Columns[Row]) -> Sorted[Row]:
    """Sort rows by the column in `?sort=`, with a minus for the highest first; an unknown name keeps their order.

    Equal rows stay in their order, and rows without a value come last. The first click on a column of text sorts from
    A to Z, and on another column the highest first.
    """
    rows, sort = list(rows), request.GET.get("sort", "")[:100]
    value = columns.get(sort.removeprefix("-"))
    arranged = rows if value is None else _by(rows, value, descends=sort.startswith("-"))
    return Sorted(arranged, sort_links(request, sort if value else "", _firsts(rows, columns)))


def _by(rows: list[Row], value: Callable[[Row], Value], *, descends: bool) -> list[Row]:
    valued = [row for row in rows if value(row) is not None]
    valued.sort(key=lambda row: _comparable(value(row)), reverse=descends)
    return [*valued, *(row for row in rows if value(row) is None)]


def _comparable(value: Value) -> tuple[str, float]:
    """Return the sort key of a value; text is compared without regard to case."""
    if isinstance(value, str):
        return value.casefold(), 0.0
    return "", value.timestamp() if isinstance(value, datetime) else float(value or 0)


def _is_text(rows: Sequence[Row], value: Callable[[Row], Value]) -> bool:
    return isinstance(next((found for row in rows if (found := value(row)) is not None), None), str)
