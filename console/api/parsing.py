"""Reading JSON strictly: what could mean two things, or what PostgreSQL cannot store, is refused before anything else.

Python's own reader would take NaN, the last of two equal names, and a number too large for any column.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from django.http import HttpRequest
from ninja.parser import Parser

from console.api.problems import Problem
from signalbox.payloads import MOST_DIGITS

MOST_BYTES_IN_LOOP = 65_536
"""The longest body that is parsed in the event loop; a longer one is parsed in a thread."""


class StrictParser(Parser):
    """Ninja's way to the body of a request."""

    def parse_body(self, request: HttpRequest) -> Any:
        read: Callable[[], Any] | None = getattr(request, "read_ahead", None)
        return read() if read else read_json(request.body)


async def read_ahead(request: Any) -> None:
    """Read a long body in a thread, so that it does not delay other requests of this process."""
    if len(request.body) > MOST_BYTES_IN_LOOP:
        request.read_ahead = await asyncio.to_thread(_read, request.body)


def _read(content: bytes) -> Callable[[], Any]:
    """Parse a body; returns a function that returns the value or raises the problem."""
    try:
        value = read_json(content)
    except Problem as problem:
        return partial(_raise, problem)
    return lambda: value


def _raise(problem: Problem) -> NoReturn:
    raise problem


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
        raise ValueError(f"The name {json.dumps(_first_repeated(pairs)[:80])} stands twice in one object.")
    return found


def _first_repeated(pairs: list[tuple[str, Any]]) -> str:
    seen: set[str] = set()
    return next(name for name, _ in pairs if name in seen or seen.add(name))


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"The number {text[:40]} is too large.")
    return number


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"A number of {len(text)} digits is too large: at most {MOST_DIGITS}.")
    return int(text)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON.")


def _unreadable(detail: str) -> Problem:
    return Problem("unreadable-body", detail)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_repetitions, parse_float=_finite, parse_int=_whole, parse_constant=_no_constant
)
