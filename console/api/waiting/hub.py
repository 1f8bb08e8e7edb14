"""All long polls of a process: a line for each queue, one listening connection, and one check a second.

A waiting poll is an entry in a dictionary and a future. It holds no thread and no connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import ExitStack
from functools import partial
from typing import Any

import psycopg

from console.api.core import database
from console.api.waiting.line import AWAY, Kind, Line, Waiter, waiter_of
from console.api.waiting.places import Places
from console.api.waiting.presence import Presence
from signalbox import AsyncClient, Message, QuotaExceeded, SignalboxError, arguments
from signalbox.calls import receiving
from signalbox.connections import pooling, primary_selection
from signalbox.connections.async_connections import AsyncPool
from signalbox.connections.connections import lasting_dsn
from signalbox.connections.listening import in_loop, shared_listener
from signalbox.connections.reconnect import jittered
from signalbox.logs import in_brief

#: Seconds between checks: an announcement may be lost, and nothing announces the end of a delay or of a lease.
LOOK_SECONDS = 1.0

#: Attempts to return messages to their queue. After that, the messages return when their leases expire.
GIVE_BACK_TRIES = 3

#: Name under which the hub itself listens, so that the connection stays while no request waits. No queue has it.
OWN_NAME = ""

logger = logging.getLogger(__name__)


class Hub:
    """Hub that waits for messages on behalf of many requests, in one event loop."""

    def __init__(self, client: AsyncClient, pool: AsyncPool, dsn: Callable[[], Awaitable[str]]) -> None:
        self._client = client
        self._pool = pool
        self._find_dsn = dsn
        self._dsn: str | None = None
        self._loop = asyncio.get_running_loop()
        self._lines: dict[str, Line] = {}
        self._listening: dict[str, ExitStack] = {}
        self._places = Places(self._connect, self._ask, self._start)
        self._presence = Presence(self._ask)
        self._watch: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopped = False

    async def receive(
        self,
        queue: str,
        max_messages: int = 1,
        visibility_timeout: float | None = None,
        consumer: str | None = None,
        wait_seconds: float = 0.0,
        *,
        by_groups: bool = False,
    ) -> list[Message]:
        """Receive messages, or wait for them up to `wait_seconds`, as `AsyncClient.receive` does.

        `by_groups` claims several messages of a FIFO group together, by `receive_groups`. A cancelled call leaves no
        waiting poll and no leased message behind.
        """
        waiter = waiter_of(max_messages, visibility_timeout, consumer, by_groups=by_groups)
        ends_at = self._loop.time() + arguments.seconds("wait_seconds", wait_seconds)
        if not wait_seconds and queue not in self._lines:  # a poll that waits already comes first
            return await self._claim(queue, max_messages, waiter.kind)
        await self._listen()
        line = self._line_of(queue)
        must_look = not (wait_seconds and line) or line.trouble is not None
        line.join(waiter)
        place = None
        try:
            if must_look:  # otherwise others wait already, and new messages are announced
                await self._first_look(line, waiter)
            if wait_seconds and not waiter.answer.done() and not self._stopped:
                place = await self._places.take(queue)
                self._watch_over()
            return await self._answer(line, waiter, ends_at)
        except QuotaExceeded:
            if waiter.messages:
                return waiter.messages
            raise
        except BaseException:
            if waiter.messages:
                line.hand_on(waiter.kind, waiter.messages)
            raise
        finally:
            waiter.answer.cancel()
            line.leave(waiter)
            self._places.give_back(place)

    def give_back(self, messages: list[Message]) -> None:
        """Return messages to the queue that the request did not take; other consumers can receive them at once."""
        if messages:
            self._start(self._give_back(messages))

    def stop(self) -> None:
        """Answer all waiting requests and accept no others, because the process is ending."""
        self._stopped = True
        for line in self._lines.values():
            line.dismiss()

    async def close(self) -> None:
        """Stop, then close every connection after the running work is done."""
        self.stop()
        if self._watch:
            self._watch.cancel()
        while lookers := [line.looker for line in self._lines.values() if line.looker]:
            await asyncio.gather(*lookers, return_exceptions=True)
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._places.disconnect()
        for listening in self._listening.values():
            listening.close()
        self._listening.clear()

    async def _first_look(self, line: Line, waiter: Waiter) -> None:
        looker = line.look()
        while looker is not None and not waiter.answer.done() and not line.has_looked_for(waiter):
            await asyncio.wait({looker, waiter.answer}, return_when=asyncio.FIRST_COMPLETED)
            looker = line.looker

    async def _answer(self, line: Line, waiter: Waiter, ends_at: float) -> list[Message]:
        if self._stopped or ends_at <= self._loop.time():
            waiter.give([])
        ending = self._loop.call_at(ends_at, _end, line, waiter)
        try:
            return await waiter.answer
        finally:
            ending.cancel()

    def _line_of(self, queue: str) -> Line:
        line = self._lines.get(queue)
        if line is None:
            line = Line(partial(self._claim, queue), self.give_back, partial(self._forget, queue))
            self._lines[queue] = line
            self._listen_to(queue, in_loop(line.look))
        return line

    def _forget(self, queue: str, line: Line) -> None:
        if self._lines.get(queue) is line:
            del self._lines[queue]
            if listening := self._listening.pop(queue, None):
                listening.close()

    async def _listen(self) -> None:
        """Find the database to listen on, once; the connection lives as long as the hub."""
        if self._dsn is not None:
            return
        try:
            self._dsn = await self._find_dsn()
        except Exception as error:
            logger.warning("Long polls cannot listen yet: %s", in_brief(error))
            return
        self._listen_to(OWN_NAME, _nothing)
        for queue, line in self._lines.items():
            self._listen_to(queue, in_loop(line.look))

    def _listen_to(self, queue: str, announced: Callable[[], None]) -> None:
        if self._dsn is not None and queue not in self._listening:
            listening = self._listening[queue] = ExitStack()
            listening.enter_context(shared_listener(self._dsn).on_ready(queue, announced))

    async def _claim(self, queue: str, max_messages: int, kind: Kind) -> list[Message]:
        if kind.by_groups:
            return await database.run(receiving.receive_groups(queue, max_messages, *kind[:2]))
        return await self._client.receive(
            queue, max_messages, visibility_timeout=kind.visibility_timeout, consumer=kind.consumer
        )

    async def _give_back(self, messages: list[Message]) -> None:
        for attempt in range(1, GIVE_BACK_TRIES + 1):
            try:
                await self._client.change_visibility_batch(messages, 0)
            except (*AWAY, SignalboxError) as error:
                logger.warning("Could not give %d messages back: %s", len(messages), in_brief(error))
                await asyncio.sleep(jittered(attempt))
            else:
                return

    def _watch_over(self) -> None:
        if self._watch is None and not self._stopped:
            self._watch = self._start(self._look_around())

    async def _look_around(self) -> None:
        """Check once a second the lines whose queues have messages to receive, and announce the waiting consumers."""
        try:
            while self._lines:
                await asyncio.sleep(jittered(LOOK_SECONDS))
                try:
                    await self._look_at(list(self._lines))
                    await self._presence.note(self._lines)
                except (*AWAY, psycopg.Error) as error:
                    logger.warning("The check of long polls failed, trying again: %s", in_brief(error))
                    for line in self._lines.values():
                        line.trouble = error
        finally:
            self._watch = None

    async def _look_at(self, queues: list[str]) -> None:
        given = {name for (name,) in await self._ask("select signalbox.receivable_queues(%s::text[])", [queues])}
        for name in queues:
            line = self._lines.get(name)
            if line is not None and (name in given or line.trouble is not None):
                line.look()

    async def _ask(self, statement: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        """Run a query, and run it again if the connection was lost. Only for queries that may run twice."""
        try:
            return await self._ask_once(statement, parameters)
        except psycopg.OperationalError:
            return await self._ask_once(statement, parameters)

    async def _ask_once(self, statement: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        async with self._pool.connection() as connection:
            return await (await connection.execute(statement.encode(), parameters)).fetchall()

    async def _connect(self) -> psycopg.AsyncConnection[Any] | None:
        dsn = pooling.session_dsn(self._dsn or "")
        if dsn is None:
            return None
        return await primary_selection.connect_async(lasting_dsn(dsn, "signalbox long polls"), autocommit=True)

    def _start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = self._loop.create_task(work)
        self._tasks.add(task)  # the event loop keeps only weak references to tasks
        task.add_done_callback(self._tasks.discard)
        return task


def _nothing() -> None:
    """Do nothing when the hub's own name is announced."""


def _end(line: Line, waiter: Waiter) -> None:
    """End the wait of a poll when its time is over: with no messages, or with the error of an outage."""
    if line.trouble is None:
        waiter.give([])
    else:
        waiter.refuse(line.trouble)
