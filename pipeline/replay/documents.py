"""What a filter asks inside a payload or the attributes, of their JSON text; known to the tasks, who know no filters.

The same as PostgreSQL answers in the database: a path steps into objects by name and into lists where it says so, a
number equals a number whatever its digits, and numbers compare exactly.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Step = str | None
"""A name, or None: each element of a list."""
Test = Callable[[Any], bool]

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


@dataclass(frozen=True)
class Equal:
    """This string, or, when `scalar` is JSON, what that says."""

    text: str
    scalar: str | None = None

    def test(self) -> Test:
        string, wanted = self.text, load(self.scalar) if self.scalar is not None else self.text
        return lambda found: found == string if isinstance(found, str) else _same(found, wanted)


@dataclass(frozen=True)
class Between:
    """A number to which each of these comparisons holds."""

    bounds: tuple[tuple[str, str], ...]

    def test(self) -> Test:
        bounds = [(COMPARE[sign], Decimal(text)) for sign, text in self.bounds]
        return lambda found: isinstance(found, Decimal) and all(holds(found, bound) for holds, bound in bounds)


@dataclass(frozen=True)
class There:
    """Anything at all, null too."""

    def test(self) -> Test:
        return lambda found: True


@dataclass(frozen=True)
class Matching:
    """A string, a number or a truth value in which a regular expression is found."""

    pattern: str
    ignores_case: bool

    def test(self) -> Test:
        found_in = re.compile(self.pattern, re.DOTALL | (re.IGNORECASE if self.ignores_case else 0)).search
        return lambda found: (text := _as_text(found)) is not None and found_in(text) is not None


Asked = Equal | Between | There | Matching


def asks(path: Sequence[Step], asked: Sequence[Asked]) -> Callable[[str | None], bool]:
    """Whether a document, as text, has at the path what one of these asks."""
    steps, tests = tuple(path), [one.test() for one in asked]

    def holds(text: str | None) -> bool:
        if text is None:
            return False
        try:
            document = load(text)
        except (ValueError, RecursionError):  # deeper than anybody's path
            return False
        return any(test(found) for found in _at(document, steps) for test in tests)

    return holds


def load(text: str) -> Any:
    """JSON, every number of it exact."""
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def _at(document: Any, path: Sequence[Step]) -> list[Any]:
    """Everything that stands at the path: more than one thing only behind a list."""
    found = [document]
    for step in path:
        if step is None:
            found = [element for one in found if isinstance(one, list) for element in one]
        else:
            found = [one[step] for one in found if isinstance(one, dict) and step in one]
    return found


def _same(found: Any, wanted: Any) -> bool:
    """JSON's equality of what is no string: true is not 1."""
    return type(found) is type(wanted) and not isinstance(found, dict | list) and bool(found == wanted)


def _as_text(found: Any) -> str | None:
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, Decimal):
        return format(found, "f")
    return found if isinstance(found, str) else None
