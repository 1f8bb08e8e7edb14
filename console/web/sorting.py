"""Lists that are read as a whole: sorted on the server by any of their columns, which the page names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from django.http import HttpRequest

from console.web.pagination import SortLink, sort_links

Row = TypeVar("Row")
Value = str | float | datetime | None
Columns = Mapping[str, Callable[[Row], Value]]


@dataclass(frozen=True)
class Sorted(Generic[Row]):
    """Rows in the order that the address asks for, and the links of the columns."""

    rows: list[Row]
    links: Mapping[str, SortLink]


def arrange(request: HttpRequest, rows: Iterable[Row], columns: Columns[Row]) -> Sorted[Row]:
    """Sort rows by the column in `?sort=`, with a minus for the highest first; an unknown name keeps their order.

    Equal rows stay in their order, and rows without a value come last. The first click on a column of text sorts from
    A to Z, and on another column the highest first.
    """
    rows, sort = list(rows), request.GET.get("sort", "")[:100]
    value = columns.get(sort.removeprefix("-"))
    arranged = rows if value is None else _by(rows, value, descends=sort.startswith("-"))
    firsts = {name: name if _is_text(rows, of) else f"-{name}" for name, of in columns.items()}
    return Sorted(arranged, sort_links(request, sort if value else "", firsts))


def _by(rows: list[Row], value: Callable[[Row], Value], *, descends: bool) -> list[Row]:
    valued = [row for row in rows if value(row) is not None]
    valued.sort(key=lambda row: _comparable(value(row)), reverse=descends)
    return [*valued, *(row for row in rows if value(row) is None)]


def _comparable(value: Value) -> tuple[str, float]:
    """Return what orders values of one column; text without regard to case."""
    if isinstance(value, str):
        return value.casefold(), 0.0
    return "", value.timestamp() if isinstance(value, datetime) else float(value or 0)


def _is_text(rows: list[Row], value: Callable[[Row], Value]) -> bool:
    return isinstance(next((found for row in rows if (found := value(row)) is not None), None), str)
