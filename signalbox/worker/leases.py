"""The leases that a worker holds, and the heartbeat that extends all of them in one call."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from signalbox.async_verbs import AsyncVerbs
from signalbox.messages import Message
from signalbox.worker.outages import happens, persist

#: Heartbeats in the time a lease lasts: two may fail before it is lost.
BEATS_PER_LEASE = 3
#: A shorter extension could end before the answer arrives; more frequent heartbeats would occupy the worker.
MIN_EXTENSION_SECONDS = 1.0
MIN_BEAT_SECONDS = 0.02

logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Lease:
    """The lease of a message, which the worker holds until it is settled or lost."""

    message: Message
    queue: str = ""
    #: A future that stops the run when it is resolved: the lease was lost, or the worker ends.
    interruption: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    #: Whether the run has ended; its outcome may not be recorded yet.
    finished: bool = False
    lost: bool = False

    @property
    def handle(self) -> str:
        return self.message.receipt_handle

    def interrupt(self) -> None:
        """Ask the run to stop."""
        if not self.interruption.done():
            self.interruption.set_result(None)


class Leases:
    """All leases of a worker, extended together after a third of the shortest lease."""

    def __init__(self, client: AsyncVerbs, heartbeat: float | None) -> None:
        self._client = client
        self._heartbeat = heartbeat
        self._held: dict[str, Lease] = {}
        self._next_beat = math.inf
        self._changed = asyncio.Event()

    def __iter__(self) -> Iterator[Lease]:
        return iter(list(self._held.values()))

    def add(self, messages: Iterable[Message], queue: str = "") -> list[Lease]:
        """Hold the leases of messages that were received from a queue."""
        leases = [Lease(message, queue) for message in messages]
        self._held.update((lease.handle, lease) for lease in leases)
        if leases and (due := self._beat_after(leases)) < self._next_beat:
            self._next_beat = due
            self._changed.set()
        return leases

    def drop(self, leases: Iterable[Lease]) -> None:
        """Drop leases that are settled or lost."""
        for lease in leases:
            self._held.pop(lease.handle, None)

    async def keep(self) -> None:
        """Extend the leases in time, until the task is cancelled."""
        while True:
            self._changed.clear()
            pause = self._next_beat - asyncio.get_running_loop().time()
            if pause > 0:
                await happens(self._changed, within=None if pause == math.inf else pause)
            else:
                await persist("extend leases", self._extend, longest_pause=2.0)
                self._next_beat = self._beat_after(self._held.values()) if self._held else math.inf

    def _beat_after(self, leases: Iterable[Lease]) -> float:
        shortest = min(lease.message.lease_seconds for lease in leases)
        pause = self._heartbeat or max(shortest / BEATS_PER_LEASE, MIN_BEAT_SECONDS)
        return asyncio.get_running_loop().time() + pause

    async def _extend(self) -> None:
        if not self._held:
            return
        longest = max(lease.message.lease_seconds for lease in self._held.values())
        deadlines = await self._client.change_visibility_batch(list(self._held), max(longest, MIN_EXTENSION_SECONDS))
        for handle, deadline in deadlines.items():
            lease = self._held.get(handle)
            if lease is not None and deadline is None and not lease.finished:
                self._lose(lease)

    def _lose(self, lease: Lease) -> None:
        """Stop the run of a lost lease: another consumer may have the message."""
        logger.warning(
            "Lost the lease of message %d: stopping its run", lease.message.id, extra={"message_id": lease.message.id}
        )
        lease.lost = True
        lease.interrupt()
        self.drop([lease])
