"""Conditions on a payload or attributes as JSON text, for tasks, which know no filters.

They answer as PostgreSQL does: a path steps into objects by name and into lists where it says so, a number equals a
number whatever its digits, and numbers compare exactly.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Sequence
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


def equal(text: str, scalar: str | None = None) -> Test:
    """Equality with this string, or, when `scalar` is JSON, with its value."""
    wanted = load(scalar) if scalar is not None else text
    return lambda found: found == text if isinstance(found, str) else _same(found, wanted)


def between(*bounds: tuple[str, str]) -> Test:
    """A number to which each of these comparisons holds."""
    compared = [(COMPARE[sign], Decimal(text)) for sign, text in bounds]
    return lambda found: isinstance(found, Decimal) and all(holds(found, bound) for holds, bound in compared)


def there(found: Any) -> bool:
    """Anything at all, null too."""
    return True


def matching(pattern: str, ignores_case: bool) -> Test:
    """A string, a number or a truth value in which a regular expression is found."""
    found_in = re.compile(pattern, re.DOTALL | (re.IGNORECASE if ignores_case else 0)).search
    return lambda found: (text := _as_text(found)) is not None and found_in(text) is not None


def asks(path: Sequence[Step], tests: Sequence[Test]) -> Callable[[str | None], bool]:
    """Build a test of documents, as text, for one of these conditions at the path."""
    steps = tuple(path)

    def holds(text: str | None) -> bool:
        if text is None:
            return False
        try:
            document = load(text)
        except (ValueError, RecursionError):  # deeper than anybody's path
            return False
        return any(test(found) for found in _at(document, steps) for test in tests)

    return holds


def containing(text: str) -> Test:
    """A string, a number or a truth value that contains this text, in either case."""
    wanted = text.lower()
    return lambda found: wanted in (_as_text(found) or "").lower()


def asks_anywhere(tests: Sequence[Test]) -> Callable[[str | None], bool]:
    """Build a test of documents, as text, for one of these conditions on any of their values."""

    def holds(text: str | None) -> bool:
        try:
            ahead = [load(text)] if text is not None else []
        except (ValueError, RecursionError):
            return False
        while ahead:
            found = ahead.pop()
            if isinstance(found, dict | list):
                ahead += found.values() if isinstance(found, dict) else found
            elif any(test(found) for test in tests):
                return True
        return False

    return holds


def load(text: str) -> Any:
    """JSON, every number of it exact."""
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def _at(document: Any, path: Sequence[Step]) -> list[Any]:
    """List everything at the path: more than one value only behind a list."""
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
