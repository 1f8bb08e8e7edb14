"""Lookup of streams by name, and the check that a key reaches them; to the key, others do not exist.

Results are cached for a second in each process, so that appending and reading need no extra query.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from console.access.api_keys import Key
from console.api.core import database
from console.api.core.problems import Problem
from queues.control import lookups

REMEMBER_SECONDS = 1.0
MAX_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class KnownStream:
    """The cached facts of a stream."""

    stream_id: int
    name: str
    tenant: str
    known_until: float


async def reached_stream(key: Key, name: str) -> KnownStream:
    """Return the stream of this name. Raises `stream-not-found` if it does not exist or the key does not reach it."""
    stream = _known.get(name)
    if stream is None or time.monotonic() > stream.known_until:
        stream = await _look_up(name)
    if stream is None or not key.reaches(stream.name, stream.tenant):
        raise stream_not_found(name)
    return stream


def forget(name: str) -> None:
    """Drop the cached facts of a stream that changed."""
    _known.pop(name, None)


def stream_not_found(name: str) -> Problem:
    """Return the problem, in the same words for a missing stream and for one that the key does not reach."""
    return Problem.of_field("stream", f"stream {name[:120]!r} does not exist", kind="stream-not-found")


async def _look_up(name: str) -> KnownStream | None:
    _known.pop(name, None)
    if "\x00" in name:
        return None
    async with database.pool().connection() as connection:
        known_until = time.monotonic() + REMEMBER_SECONDS
        row = await (await connection.execute(lookups.STREAM_BY_NAME, {"name": name})).fetchone()
    if row is None:
        return None
    if len(_known) >= MAX_REMEMBERED:
        _known.clear()
    _known[name] = KnownStream(row[0], name, row[1], known_until)
    return _known[name]


_known: dict[str, KnownStream] = {}
