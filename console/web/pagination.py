"""Pages of lists that never count: how many rows, in which order, and the links to the pages beside this one.

Each page begins where the one before it ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from console.web import preferences
from dlq.search.pages import Page, PagePosition, page_of


@dataclass(frozen=True)
class RowCount:
    """A choice of how many rows a page has. `current` marks the choice of this page."""

    rows: int
    url: str
    current: bool


@dataclass(frozen=True)
class Pager:
    """The foot of a list. An empty address means that there is no page before or after."""

    words: str
    before_url: str
    after_url: str
    row_counts: Sequence[RowCount] = ()
    """Choices of how many rows a page has; none if the whole list fits on the smallest page."""


@dataclass(frozen=True)
class SortLink:
    """The link of a column heading: it reverses the order if the list is sorted by the column, else sorts by it."""

    url: str
    direction: str
    """The value of `aria-sort`: `ascending` or `descending`; empty if the list is sorted by another column."""


def size(request: HttpRequest) -> int:
    """Return how many rows a page has: the number in the address, else the person's last choice."""
    asked = request.GET.get("rows", "")
    return int(asked if asked in preferences.CHOICES["rows"] else preferences.read(request)["rows"])


def kept(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the parameters that stay when the filter changes: the order, and the number of rows a page."""
    return [(name, request.GET[name]) for name in ("sort", "rows") if name in request.GET]


def sort_links(request: HttpRequest, sort: str, columns: Mapping[str, str]) -> dict[str, SortLink]:
    """Return the links of sortable columns. `columns` has the order of the first click for each column.

    An order is the name of the column, with a minus for the highest first. `sort` is the present order.
    """
    current, descends = sort.removeprefix("-"), sort.startswith("-")
    links = {}
    for column, first in columns.items():
        turned = current if descends else f"-{current}"
        direction = ("descending" if descends else "ascending") if column == current else ""
        links[column] = SortLink(address(request, {"sort": turned if direction else first}), direction)
    return links


def place(request: HttpRequest) -> PagePosition:
    """Return the position in the list that the address names by `before` or `after`."""
    return PagePosition(request.GET.get("before", "")[:100], request.GET.get("after", "")[:100])


def by_id(query: QuerySet[Any], field: str, request: HttpRequest, *, oldest_first: bool = False) -> Page[Any]:
    """Return a page of `query` by the unique positive number `field`, newest first unless `oldest_first`. One query."""
    at = place(request)
    before, after = whole(at.before), whole(at.after)
    onwards, back, reverse = ("gt", "lt", "-") if oldest_first else ("lt", "gt", "")
    forward_order = field if oldest_first else f"-{field}"
    if before is not None:
        found = query.filter(**{f"{field}__{back}": before}).order_by(f"{reverse}{field}")
    elif after is not None:
        found = query.filter(**{f"{field}__{onwards}": after}).order_by(forward_order)
    else:
        found, at = query.order_by(forward_order), PagePosition()
    most = size(request)
    rows = list(found[: most + 1])
    return page_of(rows, most, at, [str(getattr(row, field)) for row in rows])


def whole(cursor: str) -> int | None:
    """Return the number in a cursor; None for an invalid cursor, which leads to the first page."""
    return int(cursor) if cursor.isascii() and cursor.isdigit() and len(cursor) < 19 else None


def pager(request: HttpRequest, page: Page[Any], words: str, *, sized: bool = True) -> Pager:
    """Return the links from `page` to the pages before and after. The other parameters of the address stay.

    `sized` lists also offer other numbers of rows a page.
    """
    before, after = (_url(request, way, cursor) for way, cursor in (("before", page.before), ("after", page.after)))
    shown = row_counts(request, len(page.rows) if not (before or after) else None)
    return Pager(words, before, after, shown if sized else ())


def row_counts(request: HttpRequest, rows: int | None) -> Sequence[RowCount]:
    """Return the choices of rows a page; none for a list whose `rows` all fit on the smallest page."""
    counts, chosen = sorted(int(one) for one in preferences.CHOICES["rows"]), size(request)
    if rows is not None and rows <= counts[0]:
        return ()
    return [RowCount(one, address(request, {"rows": str(one)}), one == chosen) for one in counts]


def _url(request: HttpRequest, way: str, cursor: str) -> str:
    return address(request, {way: cursor}) if cursor else ""


def address(request: HttpRequest, changed: Mapping[str, str]) -> str:
    """Return the address with other parameters, at the first page unless they name another."""
    parameters = request.GET.copy()
    for name in ("before", "after", "from"):
        parameters.pop(name, None)
    for name, value in changed.items():
        parameters[name] = value
    return f"{request.path}?{parameters.urlencode()}"
