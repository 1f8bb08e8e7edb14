"""Which queue a name in an address is, and whether a key reaches it; else it does not exist for that key.

A name that the queue had, and that still works, is worth what it was: keys reach by it what they reached.
Remembered for a second in each process, so that sending and receiving ask nothing more of the database. A receipt
handle has its queue's id, which is never given to another queue: that is compared with no doubt at all.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from console.api import database
from console.api.problems import Problem
from console.api_keys import Key

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
        """Whether it keeps dead letters of queues that the key does not reach."""
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
    """The same for what is not had in part: `not-reached` is raised where others' dead letters are kept too."""
    queue = await reached_queue(key, name)
    if queue.holds_others(key):
        raise Problem("not-reached", f"{name!r} also keeps dead letters of queues that this key does not reach.")
    return queue


async def known_queue(name: str) -> KnownQueue | None:
    """The queue of this name, whoever asks."""
    queue = _known.get(name)
    return queue if queue is not None and time.monotonic() <= queue.known_until else await _asked(name)


def forget(name: str) -> None:
    """The queue has changed or is gone."""
    _known.pop(name, None)


def queue_not_found(name: str) -> Problem:
    """The same words whether there is no such queue or only none for this key."""
    return Problem("queue-not-found", f"queue {name[:120]!r} does not exist")


async def _no_longer_found(key: Key, name: str) -> Problem:
    """A name that a queue had, and that works no longer, says the new one to whoever reached the queue by it."""
    if "\x00" in name:
        return queue_not_found(name)
    async with database.pool().connection() as connection:
        row = await (await connection.execute(_CALLED_NOW, {"name": name})).fetchone()
    if row is None or not key.reaches(name, row[0]):
        return queue_not_found(name)
    _, called, renamed_at = row
    words = f"queue {name!r} does not exist: it is called {called!r} since {renamed_at:%Y-%m-%d}"
    return Problem("queue-not-found", words)


async def _asked(name: str) -> KnownQueue | None:
    """Of thousands who want to know the same at one moment, one asks; who gives up waiting does not stop it.

    That there is none may be news from before whoever joins came, and the queue was made since: those ask themselves.
    """
    asking = _asking.get(name)
    if asking is not None and asking.get_loop() is asyncio.get_running_loop():
        return await asyncio.shield(asking) or await _look_up(name)
    asking = _asking[name] = asyncio.create_task(_look_up(name))
    asking.add_done_callback(lambda done: _answered(name, done))
    return await asyncio.shield(asking)


def _answered(name: str, asking: asyncio.Task[KnownQueue | None]) -> None:
    if _asking.get(name) is asking:
        del _asking[name]
    if not asking.cancelled():
        asking.exception()  # whoever waited has it; nobody may have waited to the end


async def _look_up(name: str) -> KnownQueue | None:
    if "\x00" in name:
        return None
    async with database.pool().connection() as connection:
        known_until = time.monotonic() + REMEMBER_SECONDS
        cursor = await connection.execute(_LOOK_UP, {"name": name})
        row = await cursor.fetchone()
    if row is None:
        _known.pop(name, None)
        return None
    queue_id, tenant, sources, called = row
    _known[name] = KnownQueue(queue_id, name, tenant, tuple(sources), known_until, called)
    return _known[name]


_known: dict[str, KnownQueue] = {}
_asking: dict[str, asyncio.Task[KnownQueue | None]] = {}

_LOOK_UP = """
select q.queue_id, t.name, case when q.is_dead_letter_queue then array(
    select s.name
    from signalbox.source_queues(q.queue_id) source(queue_id)
    join signalbox.queue s on s.queue_id = source.queue_id
  ) else '{}' end, q.name
from signalbox.queue q
join signalbox.tenant t using (tenant_id)
where q.queue_id = coalesce(
  (select n.queue_id from signalbox.queue n where n.name = %(name)s),
  (select a.queue_id from signalbox.queue_alias a where a.name = %(name)s and a.works_until > clock_timestamp())
)
"""

_CALLED_NOW = """
select t.name, q.name, a.renamed_at at time zone 'UTC'
from signalbox.queue_alias a
join signalbox.queue q on q.queue_id = a.queue_id
join signalbox.tenant t using (tenant_id)
where a.name = %(name)s
"""
