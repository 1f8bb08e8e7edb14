# Generated from signalbox/client.py by `make generate`: change that file, then generate this one.
"""The asyncio twin of `signalbox.client`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from signalbox.async_verbs import AsyncDatabaseVerbs
from signalbox.calls import receiving, sending
from signalbox.calls.call import Call, T, Wait
from signalbox.client import LOOK_SECONDS
from signalbox.connections import pooling
from signalbox.connections.async_connections import AsyncSource, connections_of, one_transaction
from signalbox.connections.listening import AsyncWaiter, shared_listener, stream_key
from signalbox.connections.reconnect import jittered
from signalbox.errors import translated
from signalbox.payloads.bodies import BodyStore, Parcel, parcels_of, upload


class AsyncClient(AsyncDatabaseVerbs):
    """The verbs of Signalbox over a connection to its database.

    Given a DSN or a pool, each call is a short transaction of its own. Given a connection, calls join the
    caller's transaction and never commit it. Further keywords go to `psycopg.connect` with the DSN. A DSN of several
    hosts leads to the one that takes writes (`signalbox.connections.primary_selection`), or through a pooler
    (`signalbox.connections.pooling`).

    With a body store (`bodies`), payloads too large for the database go there; without one they are refused.

    Refusals are raised as errors of `signalbox.errors`; a lost database as `psycopg.OperationalError`, and
    then the call may or may not have been carried out.
    """

    def __init__(self, source: AsyncSource, *, bodies: BodyStore | None = None, **connect_options: Any) -> None:
        self._bodies = bodies
        self._connections = connections_of(source, connect_options)

    async def close(self) -> None:
        """Close the client's own connection, if it has one. A later call opens another."""
        await self._connections.close()

    async def _run(self, call: Call[T]) -> T:
        result = await self._run_once(call)
        if result or call.wait is None or not call.wait.seconds:
            return result
        async with self._long_poll(call.wait.queue):
            return await self._run_until_result(call, call.wait)

    async def _run_once(self, call: Call[T]) -> T:
        async with self._borrow() as connection:
            if call.check and not self._connections.commits_each_call:
                call.check(connection)
            return await self._execute(connection, call)

    async def _run_until_result(self, call: Call[T], wait: Wait) -> T:
        """Repeat the call until it returns messages: after each wake-up, and periodically without one."""
        ends_at = time.monotonic() + wait.seconds
        with self._waiter(wait.queue or stream_key(wait.stream or "")) as waiter:
            while not (result := await self._run_once(call)) and (left := ends_at - time.monotonic()) > 0:
                await waiter.wait(min(left, jittered(LOOK_SECONDS)))
                waiter.clear()  # before the call: a later wake-up ends the next wait
        return result

    async def _send(self, call: Call[T]) -> T:
        parcels = parcels_of(sending.payloads_of(call), self._bodies) if self._bodies is not None else {}
        if not parcels:
            return await self._run(call)
        pointing = sending.with_pointers(call, {index: parcel.sha256 for index, parcel in parcels.items()})
        return await self._send_large(pointing, {parcel.sha256: parcel for parcel in parcels.values()})

    async def _send_large(self, call: Call[T], parcels: dict[str, Parcel]) -> T:
        """Claim and upload the large bodies and send, in one transaction. All senders claim in the same order."""
        assert self._bodies is not None  # noqa: S101 - else there are no parcels
        async with self._borrow() as connection, one_transaction(connection):
            for sha256, parcel in sorted(parcels.items()):
                await self._execute(connection, sending.claim_body(bytes.fromhex(sha256), len(parcel.content)))
                await asyncio.to_thread(upload, parcel, self._bodies)
            return await self._execute(connection, call)

    async def _execute(self, connection: psycopg.AsyncConnection[Any], call: Call[T]) -> T:
        cursor = connection.cursor(row_factory=tuple_row)
        began = time.perf_counter()
        await cursor.execute(call.sql, call.parameters)
        rows = await cursor.fetchall()
        if call.durations:
            call.durations.observe(time.perf_counter() - began)
        return call.read(rows)

    @asynccontextmanager
    async def _borrow(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """Lend a connection; refusals of the database are raised as errors of `signalbox.errors`."""
        with translated():
            async with self._connections.borrow() as connection:
                yield connection

    @asynccontextmanager
    async def _long_poll(self, queue: str | None) -> AsyncIterator[None]:
        """Count the block as one long poll of the queue's tenant while it runs.

        The count is an advisory lock of a session, so it ends with the client. A client of one connection (a DSN, the
        caller's own) takes the lock on that connection; a pool lends a connection for the wait. Behind a pooler in
        transaction mode no session lasts, and the wait is not counted.
        """
        if queue is None or pooling.is_pooled():
            yield
            return
        async with self._borrow() as connection:
            place = await self._execute(connection, receiving.begin_long_poll(queue))
            if place is not None and not self._connections.lasting:
                try:
                    yield
                finally:
                    await self._execute(connection, receiving.end_long_poll(queue, place))
                return
        try:
            yield
        finally:
            if place is not None:
                await self._run_once(receiving.end_long_poll(queue, place))

    @contextmanager
    def _waiter(self, key: str) -> Iterator[AsyncWaiter]:
        """Make a waiter for wake-ups of a queue or stream; without a connection that listens, it only times out."""
        waiter, dsn = AsyncWaiter(), self._connections.dsn
        with nullcontext() if dsn is None else shared_listener(dsn).on_ready(key, waiter.wake):
            yield waiter
