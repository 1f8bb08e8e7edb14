"""Conditions on JSON texts (payloads, attributes) for Spark tasks, which cannot load the filter language.

The results are those of PostgreSQL's JSON functions: a path enters a list only at an explicit step, and numbers are
compared exactly, whatever their notation.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

Step = str | None
"""A key of an object, or None for each element of a list."""
Test = Callable[[Any], bool]

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


def equal(text: str, scalar: str | None = None) -> Test:
    """Test whether a value equals this string, or the JSON value `scalar`."""
    expected = load(scalar) if scalar is not None else text
    return lambda value: value == text if isinstance(value, str) else _same(value, expected)


def between(*bounds: tuple[str, str]) -> Test:
    """Test whether a value is a number that satisfies all of these comparisons (operator, number)."""
    compared = [(COMPARE[sign], Decimal(text)) for sign, text in bounds]
    return lambda value: isinstance(value, Decimal) and all(holds(value, bound) for holds, bound in compared)


def there(value: Any) -> bool:
    """Accept any value, including null."""
    return True


def matching(pattern: str, ignores_case: bool) -> Test:
    """Test whether a string, number or boolean contains a match of a regular expression."""
    search = re.compile(pattern, re.DOTALL | (re.IGNORECASE if ignores_case else 0)).search
    return lambda value: (text := _as_text(value)) is not None and search(text) is not None


def asks(path: Sequence[Step], tests: Sequence[Test]) -> Callable[[str | None], bool]:
    """Build a test of JSON texts: whether a value at the path passes one of the tests."""
    steps = tuple(path)

    def holds(text: str | None) -> bool:
        if text is None:
            return False
        try:
            document = load(text)
        except (ValueError, RecursionError):  # deeper than any path
            return False
        return any(test(value) for value in _values_at(document, steps) for test in tests)

    return holds


def containing(text: str) -> Test:
    """Test whether a string, number or boolean contains this text, ignoring case."""
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
    """Parse JSON with all numbers as exact decimals."""
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def _values_at(document: Any, path: Sequence[Step]) -> list[Any]:
    """List the values at a path; there are several only when the path enters a list."""
    nodes = [document]
    for step in path:
        if step is None:
            nodes = [element for node in nodes if isinstance(node, list) for element in node]
        else:
            nodes = [node[step] for node in nodes if isinstance(node, dict) and step in node]
    return nodes


def _same(value: Any, expected: Any) -> bool:
    """Compare JSON scalars with their types: true is not 1."""
    return type(value) is type(expected) and not isinstance(value, dict | list) and bool(value == expected)


def _as_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    return value if isinstance(value, str) else None
