"""Reading JSON strictly: what could mean two things, or what PostgreSQL cannot store, is refused before anything else.

Python's own reader would take NaN, the last of two equal names, and a number too large for any column.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from django.http import HttpRequest
from ninja.parser import Parser

from console.api.problems import Problem


class StrictParser(Parser):
    """Ninja's way to the body of a request."""

    def parse_body(self, request: HttpRequest) -> Any:
        return read_json(request.body)


def read_json(content: bytes) -> Any:
    """The value that this is. Raises the problem `unreadable-body`, which says where reading stopped."""
    try:
        return _DECODER.decode(content.decode())
    except UnicodeDecodeError as error:
        raise _unreadable(f"The body is not UTF-8: byte {error.start} fits nothing.") from error
    except json.JSONDecodeError as error:
        raise _unreadable(f"{error.msg} at line {error.lineno}, column {error.colno}.") from error
    except RecursionError as error:
        raise _unreadable("The body is nested too deeply.") from error
    except ValueError as error:
        raise _unreadable(str(error)) from error


def _without_repetitions(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"The name {json.dumps(twice[:80])} stands twice in one object.")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"The number {text[:40]} is too large.")
    return number


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"A number of {len(text)} digits is too large: at most {_MOST_DIGITS}.")
    return int(text)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON.")


def _unreadable(detail: str) -> Problem:
    return Problem("unreadable-body", detail)


_MOST_DIGITS = 1000
_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_repetitions, parse_float=_finite, parse_int=_whole, parse_constant=_no_constant
)
