"""The sources of a worker's messages: a database, a server in front of one, or the cells of a fleet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial

from signalbox.async_client import AsyncClient
from signalbox.async_verbs import AsyncVerbs
from signalbox.connections.connecting import is_server, key_of
from signalbox.connections.connections import lasting_dsn
from signalbox.connections.listening import in_loop, shared_listener
from signalbox.errors import QuotaExceeded
from signalbox.fleet.map import cell_and_handle, is_fleet, seed_of
from signalbox.messages import Message
from signalbox.worker.options import Options
from signalbox.worker.outages import CALL_SECONDS

#: Seconds for which a server holds a claim on an empty queue: the longest wait that it accepts.
WAIT_SECONDS = 20.0
#: Seconds for a server to answer after that wait; both together are less than CALL_SECONDS.
ANSWER_SECONDS = CALL_SECONDS - WAIT_SECONDS - 1.0
#: Seconds for which a claim waits at the cells of a fleet: the longest time until a worker notices that it is stopped.
FLEET_WAIT_SECONDS = 1.0


class DatabaseSource:
    """A database: three connections, so that a slow ack delays no heartbeat; and one for wake-ups.

    The clients do not repeat failed calls: the worker does.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        dsn = lasting_dsn(options.dsn, f"signalbox worker {options.queue}")
        self._clients = [AsyncClient(dsn, prepare_threshold=options.prepare_threshold) for _ in range(3)]
        self._claims = self._clients[0]
        self.settlements: AsyncVerbs = self._clients[1]
        self.heartbeats: AsyncVerbs = self._clients[2]

    async def claim(self, queue: str, room: int, consumer: str, stopping: asyncio.Event) -> list[Message]:
        """Claim up to `room` messages; none as soon as `stopping` is set."""
        return await self._claims.receive(
            queue,
            room,
            visibility_timeout=self._options.visibility_timeout,
            consumer=consumer,
            durable=False,
        )

    @contextmanager
    def wakes(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call `wake` in the event loop whenever there may be something to claim, while the block runs."""
        listener, waking = shared_listener(self._options.dsn), in_loop(wake)
        with ExitStack() as stack:
            for queue in self._options.weights:
                stack.enter_context(listener.on_ready(queue, waking))
            yield

    def cell_of(self, receipt_handle: str) -> str:
        """The name of the cell that holds the lease; empty for one database or server."""
        return ""

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


class ServerSource:
    """A server: one pool of connections. A claim that finds nothing waits at the server, so no wake-up is needed."""

    def __init__(self, options: Options) -> None:
        from signalbox.http import AsyncHttpClient

        self._options = options
        self._client = AsyncHttpClient(options.dsn, key_of(options.api_key), timeout=ANSWER_SECONDS, retry_seconds=0.0)
        self.settlements: AsyncVerbs = self._client
        self.heartbeats: AsyncVerbs = self._client

    async def claim(self, queue: str, room: int, consumer: str, stopping: asyncio.Event) -> list[Message]:
        receiving = asyncio.ensure_future(self._receive(queue, room, consumer))
        stopped = asyncio.ensure_future(stopping.wait())
        try:
            await asyncio.wait({receiving, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (receiving, stopped):
                task.cancel()  # closes the connection: the server then leases no message to this worker
            await asyncio.wait({receiving, stopped})
        return [] if receiving.cancelled() else receiving.result()

    async def _receive(self, queue: str, room: int, consumer: str) -> list[Message]:
        receive = partial(
            self._client.receive,
            queue,
            room,
            visibility_timeout=self._options.visibility_timeout,
            consumer=consumer,
        )
        return await _wait_alone(receive, self._options, WAIT_SECONDS)

    def wakes(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        return nullcontext()

    def cell_of(self, receipt_handle: str) -> str:
        return ""

    async def close(self) -> None:
        await self._client.close()


class FleetSource:
    """A fleet: a claim asks the cells of the queue in turn, and waits a little at each. No cell sends wake-ups."""

    def __init__(self, options: Options) -> None:
        from signalbox.fleet.async_client import AsyncFleetClient

        self._options = options
        seed = lasting_dsn(seed_of(options.dsn), f"signalbox worker {options.queue}")
        self._clients = [AsyncFleetClient(seed, prepare_threshold=options.prepare_threshold) for _ in range(3)]
        self._claims = self._clients[0]
        self.settlements: AsyncVerbs = self._clients[1]
        self.heartbeats: AsyncVerbs = self._clients[2]

    async def claim(self, queue: str, room: int, consumer: str, stopping: asyncio.Event) -> list[Message]:
        receive = partial(
            self._claims.receive,
            queue,
            room,
            visibility_timeout=self._options.visibility_timeout,
            consumer=consumer,
            durable=False,
        )
        return await _wait_alone(receive, self._options, FLEET_WAIT_SECONDS)

    def wakes(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        return nullcontext()

    def cell_of(self, receipt_handle: str) -> str:
        return cell_and_handle(receipt_handle)[0]

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


Source = DatabaseSource | ServerSource | FleetSource


async def _wait_alone(
    receive: Callable[..., Awaitable[list[Message]]], options: Options, wait_seconds: float
) -> list[Message]:
    """Claim from a queue, and wait for a message unless the worker has other queues, which would wait too."""
    if len(options.weights) > 1:
        return await receive()
    try:
        return await receive(wait_seconds=wait_seconds)
    except QuotaExceeded:  # all long polls of the tenant are in use: ask without waiting
        return await receive()


def source_of(options: Options) -> Source:
    """Make the source of the worker's address."""
    if is_fleet(options.dsn):
        return FleetSource(options)
    return ServerSource(options) if is_server(options.dsn) else DatabaseSource(options)
