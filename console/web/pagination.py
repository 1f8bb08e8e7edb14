"""The feet of lists that never count: each page begins where the one before it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from dlq.search.pages import PAGE_ROWS, Page, PagePosition, page_of


@dataclass(frozen=True)
class Pager:
    """The foot of a list; an empty address means that there is nothing more that way."""

    words: str
    before_url: str
    after_url: str


def place(request: HttpRequest) -> PagePosition:
    """Return where in its list the address is."""
    return PagePosition(request.GET.get("before", "")[:100], request.GET.get("after", "")[:100])


def by_id(query: QuerySet[Any], field: str, request: HttpRequest) -> Page[Any]:
    """A page of `query` with the newest first, by the unique positive integer `field`. One query."""
    at = place(request)
    newer_than, older_than = whole(at.before), whole(at.after)
    if newer_than is not None:
        found = query.filter(**{f"{field}__gt": newer_than}).order_by(field)
    elif older_than is not None:
        found = query.filter(**{f"{field}__lt": older_than}).order_by(f"-{field}")
    else:
        found, at = query.order_by(f"-{field}"), PagePosition()
    rows = list(found[: PAGE_ROWS + 1])
    return page_of(rows, PAGE_ROWS, at, [str(getattr(row, field)) for row in rows])


def whole(cursor: str) -> int | None:
    """Return the number in a cursor; an address with an edited cursor leads to the first page."""
    return int(cursor) if cursor.isascii() and cursor.isdigit() and len(cursor) < 19 else None


def pager(request: HttpRequest, page: Page[Any], words: str) -> Pager:
    """The links from `page` to its neighbours; everything else in the address stays."""
    return Pager(words, _url(request, "before", page.before), _url(request, "after", page.after))


def _url(request: HttpRequest, way: str, cursor: str) -> str:
    parameters = request.GET.copy()
    for name in ("before", "after"):
        parameters.pop(name, None)
    parameters[way] = cursor
    return f"{request.path}?{parameters.urlencode()}" if cursor else ""
