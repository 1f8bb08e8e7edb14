"""A worker at work, from the first claim to the last settlement.

This process never runs a handler. It is one event loop that nothing blocks, so heartbeats go out in time
whatever handlers do, and a run that must end is ended from outside, by killing the process it is in.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections import deque
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import partial
from typing import Any

from signalbox.async_verbs import AsyncVerbs
from signalbox.connections.reconnect import jittered
from signalbox.messages import Message
from signalbox.version import __version__
from signalbox.worker.handlers.outcomes import Outcome, rejected_as_unreadable
from signalbox.worker.holdings import Holdings
from signalbox.worker.leases import Lease
from signalbox.worker.options import Options
from signalbox.worker.outages import happens, persist
from signalbox.worker.processes.pool import STACK_SECONDS, Pool
from signalbox.worker.queue_order import QueueOrder
from signalbox.worker.sources import source_of

#: The most messages of one claim.
MAX_CLAIM = 1000
#: Seconds to record the last outcomes once every run has ended, and when stopping at once.
SETTLE_SECONDS = 10.0
SETTLE_AT_ONCE_SECONDS = 5.0
#: Seconds between announcements to the console: well within the minute after which a silent consumer no longer counts.
ANNOUNCE_SECONDS = 10.0

logger = logging.getLogger(__name__)


class Presence:
    """The announcements of a worker to the console, and the name under which it receives."""

    def __init__(self, client: AsyncVerbs, options: Options) -> None:
        self.consumer = options.consumer or f"{socket.gethostname()}:{os.getpid()}"
        self._client = client
        self._queues = tuple(options.weights)
        self._details: dict[str, object] = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "handler": options.handler_name,
            "concurrency": options.concurrency,
            "prefetch": options.prefetch,
            "version": __version__,
            "started_at": datetime.now(UTC).isoformat(),
        }

    async def announce(self, running: Callable[[], int]) -> None:
        """Announce the worker now and every ten seconds, until the task is cancelled."""
        while True:
            details = self._details | {"running": running()}
            for queue in self._queues:
                announcement = partial(self._client.announce_consumer, queue, self.consumer, details)
                await persist("announce this worker", announcement)
            await asyncio.sleep(ANNOUNCE_SECONDS)


class RunLoop:
    """The loop of a worker: it claims messages ahead of need, has the pool run them, and settles them."""

    def __init__(self, options: Options) -> None:
        self._source = source_of(options)
        self._options = options
        self._order = QueueOrder(options.weights, options.order)
        self._changed = asyncio.Event()  # set at a free slot, an announcement, recorded outcomes, or a stop
        self._held = Holdings(self._source, options, relieved=self._changed.set, spawn=self._spawn)
        self._presence = Presence(self._source.heartbeats, options)
        self._pool = Pool(options)
        self._waiting: deque[Lease] = deque()
        self._running: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._at_once = asyncio.Event()
        self._failure: BaseException | None = None

    async def work(self) -> None:
        """Work until stopped. Raises the error that ended the work: no such queue, no handler."""
        announcing = self._spawn(self._presence.announce(lambda: len(self._running)))
        claiming = self._spawn(self._claim())
        hastening = self._spawn(self._end_at_once(claiming))
        try:
            await asyncio.wait({claiming})
        finally:
            self._finish_claiming()
            await asyncio.wait({claiming})
            await self._wind_down()
            await _cancel([hastening, announcing, *self._held.tasks])
            await self._source.close()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Claim no more messages and let handlers finish; a second call stops at once."""
        if self._stopping.is_set():
            self._at_once.set()
        self._finish_claiming()

    def _finish_claiming(self) -> None:
        self._stopping.set()
        self._changed.set()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task whose failure ends the loop."""
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failure = self._failure or error
            if not self._stopping.is_set():
                self.stop()

    async def _claim(self) -> None:
        clock = asyncio.get_running_loop().time
        await self._pool.open()
        with self._source.wakes(self._changed.set):
            while not self._stopping.is_set():
                self._changed.clear()
                room, began = self._room(), clock()
                claimed = room and await self._claim_up_to(room)
                if not claimed and not self._stopping.is_set():
                    pause = jittered(self._options.poll_interval) - (clock() - began)  # the claim may have waited
                    await happens(self._changed, within=max(pause, 0.0) if room else None)

    def _room(self) -> int:
        """The number of messages to claim now: none before half of the messages claimed ahead are used up.

        The number is also zero while more outcomes are pending than a full worker and one call of acks hold: a slow
        database must not increase the number of messages that a crash would deliver again.
        """
        capacity = self._options.concurrency + self._options.prefetch
        if len(self._waiting) > self._options.prefetch // 2 or self._held.pending > capacity + self._options.ack_batch:
            return 0
        return min(capacity - len(self._waiting) - len(self._running), MAX_CLAIM)

    async def _claim_up_to(self, room: int) -> int:
        """Claim from the queues in their order and run what came; returns how many messages came."""
        left = room
        for queue, share in self._order.turns(room):
            if not left or self._stopping.is_set():
                break
            messages = await self._receive(queue, min(share, left)) or []
            left -= len(messages)
            self._waiting.extend(self._held.add(messages, queue))
            self._fill_slots()  # none when the worker was stopped during the claim
        return room - left

    async def _receive(self, queue: str, room: int) -> list[Message] | None:
        claim = partial(self._source.claim, queue, room, self._presence.consumer, self._stopping)
        return await persist("claim messages", claim, self._stopping)

    def _fill_slots(self) -> None:
        while len(self._running) < self._options.concurrency and (lease := self._next_lease()):
            slot = self._spawn(self._run_from(lease))
            self._running.add(slot)
            slot.add_done_callback(self._free_slot)

    def _next_lease(self) -> Lease | None:
        while self._waiting and not self._stopping.is_set():
            if not (lease := self._waiting.popleft()).lost:
                return lease
        return None

    def _free_slot(self, slot: asyncio.Task[None]) -> None:
        self._running.discard(slot)
        self._fill_slots()
        self._ask_for_more()

    def _ask_for_more(self) -> None:
        if self._room():
            self._changed.set()

    async def _run_from(self, lease: Lease | None) -> None:
        """Run one message after the other while some wait, without a turn of the event loop in between."""
        while lease is not None:
            await self._perform(lease)
            lease = self._next_lease()
            self._ask_for_more()

    async def _perform(self, lease: Lease) -> None:
        outcome = Outcome("stopped")  # if the pool fails or this task is cancelled
        try:
            unreadable = lease.message.unreadable
            outcome = (
                rejected_as_unreadable(unreadable)
                if unreadable is not None
                else await self._pool.perform(lease.message, lease.queue, lease.interruption)
            )
        finally:
            self._held.settle(lease, outcome)

    async def _wind_down(self) -> None:
        """Give back waiting messages, let handlers finish within the grace, then stop and give back the rest."""
        self._held.hurry()
        for lease in self._waiting:
            self._held.settle(lease, Outcome("stopped"))
        if self._running:
            logger.info("Stopping: waiting for %d handlers to finish", len(self._running))
            await asyncio.wait(self._running, timeout=self._options.stop_grace)
        for lease in self._held:
            lease.interrupt()
        if self._running:
            await asyncio.wait(self._running, timeout=self._options.cancel_grace + 2 * STACK_SECONDS)
        await _cancel(list(self._running))
        within = SETTLE_AT_ONCE_SECONDS if self._at_once.is_set() else SETTLE_SECONDS
        await self._held.settled(within)
        await self._pool.close()

    async def _end_at_once(self, claiming: asyncio.Task[None]) -> None:
        await self._at_once.wait()
        logger.warning("Stopping at once: killing %d handlers", len(self._running))
        claiming.cancel()
        for run in self._running:
            run.cancel()
        await self._pool.kill()


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
