"""Lookup of queues by name, and the check that a key reaches them; to the key, others do not exist.

An old name that still works gives the same access as before. Results are cached for a second in each process, so that
sending and receiving need no extra query. A receipt handle contains the id of its queue, which is never reused, so that
check needs no lookup.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from console.access.api_keys import Key
from console.api.core import database
from console.api.core.problems import Problem
from console.api.core.single_flight import SingleFlight
from queues.control import lookups

REMEMBER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class KnownQueue:
    """The cached facts of a queue; `sources` are the queues whose dead letters it keeps."""

    queue_id: int
    name: str
    tenant: str
    sources: tuple[str, ...]
    known_until: float = field(compare=False)
    called: str = field(default="", compare=False)
    """The current name of the queue, if `name` is a former name."""
    receive_wait_seconds: float = field(default=0.0, compare=False)

    def is_reached_by(self, key: Key) -> bool:
        """Return whether the key reaches the queue, or a queue whose dead letters it keeps."""
        return any(key.reaches(name, self.tenant) for name in (self.name, *self.sources))

    def holds_others(self, key: Key) -> bool:
        """Return whether the queue keeps dead letters of queues that the key does not reach."""
        return not all(key.reaches(name, self.tenant) for name in self.sources)


async def reached_queue(key: Key, name: str) -> KnownQueue:
    """Return the queue of this name. Raises `queue-not-found` if it does not exist or the key does not reach it."""
    queue = await known_queue(name)
    if queue is None:
        raise await _no_longer_found(key, name)
    if not queue.is_reached_by(key):
        raise queue_not_found(name)
    return queue


async def queue_of_its_own(key: Key, name: str) -> KnownQueue:
    """Return a queue that the key reaches completely.

    Raises `not-reached` if it keeps dead letters of queues that the key does not reach.
    """
    queue = await reached_queue(key, name)
    if queue.holds_others(key):
        raise Problem("not-reached", f"{name!r} also keeps dead letters of queues that this key does not reach.")
    return queue


async def known_queue(name: str) -> KnownQueue | None:
    """Return the queue of this name, for any caller."""
    queue = _known.get(name)
    return queue if queue is not None and time.monotonic() <= queue.known_until else await _asked(name)


def forget(name: str) -> None:
    """Drop the cached facts of a queue that changed."""
    _known.pop(name, None)


def queue_not_found(name: str) -> Problem:
    """Return the problem `queue-not-found`: the same text for a missing queue and for one that the key cannot reach."""
    return Problem("queue-not-found", f"queue {name[:120]!r} does not exist")


async def _no_longer_found(key: Key, name: str) -> Problem:
    """Return the problem for an unknown name. For a former name in the key's reach, the text has the new name."""
    if "\x00" in name:
        return queue_not_found(name)
    async with database.pool().connection() as connection:
        row = await (await connection.execute(lookups.QUEUE_OF_OLD_NAME, {"name": name})).fetchone()
    if row is None or not key.reaches(name, row[0]):
        return queue_not_found(name)
    _, called, renamed_at = row
    words = f"queue {name!r} does not exist: it is called {called!r} since {renamed_at:%Y-%m-%d}"
    return Problem("queue-not-found", words)


async def _asked(name: str) -> KnownQueue | None:
    """Look the queue up once for all requests that need it now.

    A cancelled request does not stop the lookup. A lookup that began before this request may have missed a queue that
    was created since, so a request that joined such a lookup and got "not found" looks the queue up again.
    """
    joined = _lookups.under_way(name) is not None
    queue = await _lookups.ask(name)
    return await _look_up(name) if queue is None and joined else queue


async def _look_up(name: str) -> KnownQueue | None:
    if "\x00" in name:
        return None
    async with database.pool().connection() as connection:
        known_until = time.monotonic() + REMEMBER_SECONDS
        cursor = await connection.execute(lookups.QUEUE_BY_NAME, {"name": name})
        row = await cursor.fetchone()
    if row is None:
        _known.pop(name, None)
        return None
    queue_id, tenant, sources, called, wait_seconds = row
    _known[name] = KnownQueue(queue_id, name, tenant, tuple(sources), known_until, called, wait_seconds)
    return _known[name]


_known: dict[str, KnownQueue] = {}
_lookups = SingleFlight(_look_up)
