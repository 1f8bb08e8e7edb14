"""Pages that never count: each begins where the one before ended, so the deepest is as fast as the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import QuerySet
from django.http import HttpRequest

PAGE_ROWS = 50

Row = TypeVar("Row")


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Some rows in the order shown; a cursor where there are more before or after them."""

    rows: Sequence[Row]
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Pager:
    """The foot of a list."""

    words: str
    before_url: str
    after_url: str


def by_id(query: QuerySet[Any], field: str, request: HttpRequest, rows: int = PAGE_ROWS) -> Page[Any]:
    """A page of `query` with the newest first, by the unique integer `field`. One query."""
    newer_than = whole(request.GET.get("before", ""))
    older_than = whole(request.GET.get("after", ""))
    if newer_than is not None:
        found = list(query.filter(**{f"{field}__gt": newer_than}).order_by(field)[: rows + 1])
        return _page(found[:rows][::-1], field, more_before=len(found) > rows, more_after=True)
    if older_than is not None:
        query = query.filter(**{f"{field}__lt": older_than})
    found = list(query.order_by(f"-{field}")[: rows + 1])
    return _page(found[:rows], field, more_before=older_than is not None, more_after=len(found) > rows)


def _page(rows: list[Any], field: str, *, more_before: bool, more_after: bool) -> Page[Any]:
    return Page(
        rows,
        before=str(getattr(rows[0], field)) if rows and more_before else "",
        after=str(getattr(rows[-1], field)) if rows and more_after else "",
    )


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


def whole(text: str) -> int | None:
    """A cursor from an address, or None when it is not a whole number that a bigint holds."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
