"""Queues by the name in an address, and whether a key reaches them; else they do not exist for that key.

A name that the queue had, and that still works, is worth what it was: keys reach by it what they reached.
Remembered for a second in each process, so that sending and receiving ask nothing more of the database. A receipt
handle has its queue's id, which is never given to another queue: that is compared with no doubt at all.
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
    """A queue as far as finding it goes; `sources` are the names of those whose dead letters it keeps."""

    queue_id: int
    name: str
    tenant: str
    sources: tuple[str, ...]
    known_until: float = field(compare=False)
    called: str = field(default="", compare=False)
    """Its name by now, where `name` is one that it had."""

    def is_reached_by(self, key: Key) -> bool:
        """A dead-letter queue belongs to a key when it or a queue that it serves does."""
        return any(key.reaches(name, self.tenant) for name in (self.name, *self.sources))

    def holds_others(self, key: Key) -> bool:
        """Return whether it keeps dead letters of queues that the key does not reach."""
        return not all(key.reaches(name, self.tenant) for name in self.sources)


async def reached_queue(key: Key, name: str) -> KnownQueue:
    """The queue of this name. Raises the problem `queue-not-found`, also when the key does not reach it."""
    queue = await known_queue(name)
    if queue is None:
        raise await _no_longer_found(key, name)
    if not queue.is_reached_by(key):
        raise queue_not_found(name)
    return queue


async def queue_of_its_own(key: Key, name: str) -> KnownQueue:
    """Return a queue that is not had in part: `not-reached` is raised where others' dead letters are kept too."""
    queue = await reached_queue(key, name)
    if queue.holds_others(key):
        raise Problem("not-reached", f"{name!r} also keeps dead letters of queues that this key does not reach.")
    return queue


async def known_queue(name: str) -> KnownQueue | None:
    """Return the queue of this name, for any caller."""
    queue = _known.get(name)
    return queue if queue is not None and time.monotonic() <= queue.known_until else await _asked(name)


def forget(name: str) -> None:
    """The queue has changed or is gone."""
    _known.pop(name, None)


def queue_not_found(name: str) -> Problem:
    """Refuse in the same words whether there is no such queue or only none for this key."""
    return Problem("queue-not-found", f"queue {name[:120]!r} does not exist")


async def _no_longer_found(key: Key, name: str) -> Problem:
    """Refuse an old name that works no longer, with the new one for a key that reached the queue by it."""
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
    """Look up once for all requests that want to know the same at one moment; giving up does not stop it.

    That there is none may be news from before a request came, and the queue was made since: those look up again.
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
    queue_id, tenant, sources, called = row
    _known[name] = KnownQueue(queue_id, name, tenant, tuple(sources), known_until, called)
    return _known[name]


_known: dict[str, KnownQueue] = {}
_lookups = SingleFlight(_look_up)
