"""The feet of lists that never count: each page begins where the one before it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from dlq.browse import PAGE_ROWS, Page, Place
from dlq.browse.pages import page_of


@dataclass(frozen=True)
class Pager:
    """The foot of a list; an empty address means that there is nothing more that way."""

    words: str
    before_url: str
    after_url: str


def place(request: HttpRequest) -> Place:
    """Where in its list the address is."""
    return Place(request.GET.get("before", "")[:100], request.GET.get("after", "")[:100])


def by_id(query: QuerySet[Any], field: str, request: HttpRequest) -> Page[Any]:
    """A page of `query` with the newest first, by the unique positive integer `field`. One query."""
    at = place(request)
    newer_than, older_than = _id(at.before), _id(at.after)
    if newer_than is not None:
        found = query.filter(**{f"{field}__gt": newer_than}).order_by(field)
    elif older_than is not None:
        found = query.filter(**{f"{field}__lt": older_than}).order_by(f"-{field}")
    else:
        found, at = query.order_by(f"-{field}"), Place()
    rows = list(found[: PAGE_ROWS + 1])
    return page_of(rows, PAGE_ROWS, at, [str(getattr(row, field)) for row in rows])


def _id(cursor: str) -> int | None:
    """The id in a cursor; an address that somebody edited leads to the first page."""
    return int(cursor) if cursor.isascii() and cursor.isdigit() and len(cursor) < 19 else None


def pager(request: HttpRequest, page: Page[Any], words: str) -> Pager:
    """The links from `page` to its neighbours; everything else in the address stays."""
    return Pager(
        words,
        before_url=_url(request, before=page.before) if page.before else "",
        after_url=_url(request, after=page.after) if page.after else "",
    )


def _url(request: HttpRequest, **cursor: str) -> str:
    parameters = request.GET.copy()
    for name in ("before", "after"):
        parameters.pop(name, None)
    for name, value in cursor.items():
        parameters[name] = value
    return f"{request.path}?{parameters.urlencode()}"
