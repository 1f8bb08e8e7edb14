"""Where a worker's messages come from and where it settles them: a database, or a server in front of one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Protocol

from signalbox.async_client import AsyncClient
from signalbox.connecting import is_server, key_of
from signalbox.connections import lasting_dsn
from signalbox.errors import QuotaExceeded
from signalbox.listening import shared_listener
from signalbox.messages import Message
from signalbox.verbs import AsyncVerbs
from signalbox.worker.options import Options
from signalbox.worker.outages import CALL_SECONDS

#: How long a server may hold a claim while there is nothing to claim, in seconds: the longest that it would.
WAIT_SECONDS = 20.0
#: Time for a server to answer beyond that; together less than a call may take.
ANSWER_SECONDS = CALL_SECONDS - WAIT_SECONDS - 1.0


class Source(Protocol):
    """What a worker needs of either. The calls do not repeat themselves: the worker does that."""

    #: For settlements, and for heartbeats, which a slow settlement must not hold up.
    settlements: AsyncVerbs
    heartbeats: AsyncVerbs

    async def claim(self, room: int, consumer: str, stopping: asyncio.Event) -> list[Message]:
        """Up to `room` messages; none as soon as `stopping` is set. It may wait for the first."""
        ...

    def wakes(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        """Call `wake` in the event loop whenever there may be something to claim, while the block runs."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...


def source_of(options: Options) -> Source:
    """The source that the worker's address is of."""
    return ServerSource(options) if is_server(options.dsn) else DatabaseSource(options)


class DatabaseSource:
    """Three connections, so that a slow ack delays no heartbeat and a slow claim no ack; wake-ups have one as well."""

    def __init__(self, options: Options) -> None:
        self._options = options
        dsn = lasting_dsn(options.dsn, f"signalbox worker {options.queue}")
        self._clients = [AsyncClient(dsn, prepare_threshold=options.prepare_threshold) for _ in range(3)]
        self._claims = self._clients[0]
        self.settlements: AsyncVerbs = self._clients[1]
        self.heartbeats: AsyncVerbs = self._clients[2]

    async def claim(self, room: int, consumer: str, stopping: asyncio.Event) -> list[Message]:
        return await self._claims.receive(
            self._options.queue,
            room,
            visibility_timeout=self._options.visibility_timeout,
            consumer=consumer,
            durable=False,
        )

    def wakes(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        loop = asyncio.get_running_loop()

        def announced() -> None:
            with suppress(RuntimeError):  # the loop has ended in the meantime
                loop.call_soon_threadsafe(wake)

        return shared_listener(self._options.dsn).on_ready(self._options.queue, announced)

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


class ServerSource:
    """One pool of connections. A claim that finds nothing waits at the server for news, so nobody need wake us."""

    def __init__(self, options: Options) -> None:
        from signalbox.http import AsyncHttpClient

        self._options = options
        self._client = AsyncHttpClient(options.dsn, key_of(options.api_key), timeout=ANSWER_SECONDS, retry_seconds=0.0)
        self.settlements: AsyncVerbs = self._client
        self.heartbeats: AsyncVerbs = self._client

    async def claim(self, room: int, consumer: str, stopping: asyncio.Event) -> list[Message]:
        asking = asyncio.ensure_future(self._receive(room, consumer))
        told = asyncio.ensure_future(stopping.wait())
        try:
            await asyncio.wait({asking, told}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (asking, told):
                task.cancel()  # hangs up: the server then leases nothing to us
            await asyncio.wait({asking, told})
        return [] if asking.cancelled() else asking.result()

    async def _receive(self, room: int, consumer: str) -> list[Message]:
        async def ask(wait_seconds: float) -> list[Message]:
            return await self._client.receive(
                self._options.queue,
                room,
                visibility_timeout=self._options.visibility_timeout,
                consumer=consumer,
                wait_seconds=wait_seconds,
            )

        try:
            return await ask(WAIT_SECONDS)
        except QuotaExceeded:  # all long polls of the tenant are in use: look, and look again after a pause
            return await ask(0.0)

    def wakes(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        return nullcontext()

    async def close(self) -> None:
        await self._client.close()
