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
    """A choice of rows a page; the one in force is `current`."""

    rows: int
    url: str
    current: bool


@dataclass(frozen=True)
class Pager:
    """The foot of a list; an empty address means that there is nothing more that way."""

    words: str
    before_url: str
    after_url: str
    row_counts: Sequence[RowCount] = ()
    """Choices of rows a page; none where the list is shorter than the smallest."""


@dataclass(frozen=True)
class SortLink:
    """The heading of a column that sorts: its address turns the order round, or sorts by this column."""

    url: str
    direction: str
    """`ascending` or `descending`, as `aria-sort` says it; empty where the list is sorted by another column."""


def size(request: HttpRequest) -> int:
    """Return how many rows a page has: as the address says, else as the person chose last."""
    asked = request.GET.get("rows", "")
    return int(asked if asked in preferences.CHOICES["rows"] else preferences.read(request)["rows"])


def kept(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the parameters of the address that another filter keeps: the order and the rows a page."""
    return [(name, request.GET[name]) for name in ("sort", "rows") if name in request.GET]


def sort_links(request: HttpRequest, sort: str, columns: Mapping[str, str]) -> dict[str, SortLink]:
    """Return the links of the columns that sort: `columns` has for each the order that a first click asks for.

    An order is the name of the column, with a minus for the highest first; `sort` is the one in force.
    """
    current, descends = sort.removeprefix("-"), sort.startswith("-")
    links = {}
    for column, first in columns.items():
        turned = current if descends else f"-{current}"
        direction = ("descending" if descends else "ascending") if column == current else ""
        links[column] = SortLink(address(request, {"sort": turned if direction else first}), direction)
    return links


def place(request: HttpRequest) -> PagePosition:
    """Return where in its list the address is."""
    return PagePosition(request.GET.get("before", "")[:100], request.GET.get("after", "")[:100])


def by_id(query: QuerySet[Any], field: str, request: HttpRequest, *, oldest_first: bool = False) -> Page[Any]:
    """A page of `query` by the unique positive integer `field`, the newest first unless `oldest_first`. One query."""
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
    """Return the number in a cursor; an address with an edited cursor leads to the first page."""
    return int(cursor) if cursor.isascii() and cursor.isdigit() and len(cursor) < 19 else None


def pager(request: HttpRequest, page: Page[Any], words: str, *, sized: bool = True) -> Pager:
    """The links from `page` to its neighbours; everything else in the address stays.

    `sized` lists have as many rows as `size` says, and offer other numbers.
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
