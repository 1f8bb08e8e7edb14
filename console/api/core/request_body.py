"""Request bodies: read up to the allowed size, then parsed as strict JSON.

Ambiguous JSON and JSON that PostgreSQL cannot store is refused first. Python's parser would accept NaN, the last of two
equal names, and numbers too large for any column.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, NoReturn

from django.conf import settings
from ninja.parser import Parser

from console.api.core.disconnects import ClientGone
from console.api.core.problems import Problem
from signalbox.payloads.encoding import MAX_DIGITS


async def read_body(
    headers: Mapping[bytes, bytes], receive: Callable[[], Awaitable[MutableMapping[str, Any]]]
) -> bytes:
    """Read a body of JSON. Raises ClientGone and the problems `payload-too-large` and `unsupported-media-type`."""
    body = await read_parts(headers, receive)
    if body:
        _check_type(headers.get(b"content-type", b""))
    return body


async def read_parts(
    headers: Mapping[bytes, bytes], receive: Callable[[], Awaitable[MutableMapping[str, Any]]]
) -> bytes:
    """Read the whole body, of any type. Raises ClientGone and the problem `payload-too-large`."""
    declared = headers.get(b"content-length", b"0")
    _check_size(int(declared) if declared.isdigit() else 0)
    parts, size, more = [], 0, True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ClientGone
        part = event.get("body", b"")
        size += len(part)
        _check_size(size)
        parts.append(part)
        more = event.get("more_body", False)
    return b"".join(parts)


def _check_size(size: int) -> None:
    if size > settings.API_MAX_BODY_BYTES:
        raise Problem(
            "payload-too-large",
            f"The body has more than the {settings.API_MAX_BODY_BYTES} bytes that one request may have.",
            limit=settings.API_MAX_BODY_BYTES,
        )


def _check_type(given: bytes) -> None:
    kind = given.partition(b";")[0].strip().lower()
    if kind != b"application/json" and not (kind.startswith(b"application/") and kind.endswith(b"+json")):
        named = given[:80].decode("latin-1") or "nothing"
        raise Problem("unsupported-media-type", f"The body is declared as {named!r}: send application/json.")


MAX_BYTES_IN_LOOP = 65_536
"""The longest body that is parsed in the event loop; a longer one is parsed in a thread."""


class StrictParser(Parser):
    """Parser that django-ninja calls for the body of a request."""

    def parse_body(self, request: Any) -> Any:
        if not hasattr(request, "read_ahead"):
            return read_json(request.body)
        if isinstance(request.read_ahead, Problem):
            raise request.read_ahead
        return request.read_ahead


async def read_ahead(request: Any) -> None:
    """Parse a long body in a thread, so that other requests of this process do not wait."""
    if len(request.body) > MAX_BYTES_IN_LOOP:
        request.read_ahead = await asyncio.to_thread(_read, request.body)


def _read(content: bytes) -> Any:
    """Return the value of the body, or the problem that the route raises after it has checked the key."""
    try:
        return read_json(content)
    except Problem as problem:
        return problem


def read_json(content: bytes) -> Any:
    """Parse JSON. Raises the problem `unreadable-body`, which says where parsing stopped."""
    try:
        return _DECODER.decode(content.decode())
    except UnicodeDecodeError as error:
        raise Problem("unreadable-body", f"The body is not UTF-8: byte {error.start} fits nothing.") from error
    except json.JSONDecodeError as error:
        detail = f"{error.msg} at line {error.lineno}, column {error.colno}."
        raise Problem("unreadable-body", detail) from error
    except RecursionError as error:
        raise Problem("unreadable-body", "The body is nested too deeply.") from error
    except ValueError as error:
        raise Problem("unreadable-body", str(error)) from error


def _without_repetitions(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        repeated = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise ValueError(f"The name {json.dumps(repeated[:80])} stands twice in one object.")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"The number {text[:40]} is too large.")
    return number


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"A number of {len(text)} digits is too large: at most {MAX_DIGITS}.")
    return int(text)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON.")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_repetitions, parse_float=_finite, parse_int=_whole, parse_constant=_no_constant
)
