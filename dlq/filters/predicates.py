"""Conditions as text and parameters, and how they join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

Parameter = str | int | datetime | list[str] | list[int]


@dataclass(frozen=True)
class Predicate:
    """A condition to put behind `where` or `and`; `%s` marks each of `params`, in order."""

    sql: str
    params: list[Parameter]


def every(parts: Sequence[Predicate]) -> Predicate:
    """All of the parts; true when there is none."""
    return _joined(" and ", parts) if parts else Predicate("true", [])


def either(parts: Sequence[Predicate]) -> Predicate:
    """At least one of the parts, ready to stand beside an `and`."""
    joined = _joined(" or ", parts)
    return Predicate(f"({joined.sql})", joined.params) if len(parts) > 1 else joined


def negation(part: Predicate) -> Predicate:
    """What the part does not match, unknown included: a missing error class is not TimeoutError either."""
    return Predicate(f"({part.sql}) is not true", part.params)


def _joined(word: LiteralString, parts: Sequence[Predicate]) -> Predicate:
    sql = word.join(part.sql for part in parts)
    return Predicate(sql, [param for part in parts for param in part.params])
