"""Limits on concurrent long polls of a tenant, held as advisory locks on one connection of the process.

Each waiting poll of a limited tenant holds one numbered lock of the session. If the process ends or loses its
connection, the database releases all of them. The connection is open only while a limited tenant has polls here. Behind
a pooler, where sessions do not last, each process counts only its own polls.
"""

from __future__ import annotations

import asyncio
import time
from bisect import insort
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import psycopg

from console.api.core.single_flight import SingleFlight
from queues.control.lookups import LONG_POLL_LIMIT
from signalbox.connections.connections import is_alive
from signalbox.connections.unavailable import CONNECTION_LOST, DatabaseUnavailable
from signalbox.errors import QueueNotFound, translated

#: Seconds for which "this tenant has no limit" is cached, and for which the connection stays open without a place.
BELIEVE_SECONDS = 1.0
LINGER_SECONDS = 30.0
MAX_BELIEVED = 10_000

# A place that only this process counts; refused above the limit of the process.
_FLEETING = """
select p.place, signalbox.end_long_poll_of(%s::int, p.place)
from signalbox.begin_long_poll_of(%s::int, %s::int[]) p(place)
"""

Connect = Callable[[], Awaitable[psycopg.AsyncConnection[Any] | None]]
"""Opens a connection; None if connections have no session of their own, as behind a pooler."""
Ask = Callable[[str, list[Any]], Awaitable[list[tuple[Any, ...]]]]
Start = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
"""Starts a background task. The hub waits for these tasks when it closes."""


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """The numbered place of a poll; `connection` is None if only this process counts it."""

    tenant_id: int
    number: int
    connection: psycopg.AsyncConnection[Any] | None


class Places:
    """Places of long polls, taken and released one at a time. `disconnect` releases all."""

    def __init__(self, connect: Connect, ask: Ask, start: Start) -> None:
        self._connect = connect
        self._ask = ask
        self._start = start
        self._turn = asyncio.Lock()
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._held: dict[int, list[int]] = {}
        self._unlimited: dict[str, float] = {}
        self._limited_tenants = SingleFlight(self._limited_tenant)
        self._linger: asyncio.TimerHandle | None = None

    async def take(self, queue: str) -> Place | None:
        """Take a place for a poll of this queue; None if none is needed. Raises QuotaExceeded when all are taken."""
        if self._unlimited.get(queue, 0.0) > time.monotonic():
            return None
        taking = self._start(self._take(queue))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(self._give_back_unwanted)
            raise

    def give_back(self, place: Place | None) -> None:
        """Release the place of a poll in the background, before any later request takes one."""
        if place is not None:
            self._start(self._give_back(place))

    async def _take(self, queue: str) -> Place | None:
        tenant_id = await self._limited_tenants.ask(queue)
        if tenant_id is None:
            return None
        async with self._turn:
            try:
                return await self._begin(tenant_id)
            except DatabaseUnavailable as error:
                if self._connection is None or error.cause != CONNECTION_LOST.slug:
                    raise
                await self.disconnect()  # the lost session has released every place that it held
                return await self._begin(tenant_id)

    async def _begin(self, tenant_id: int) -> Place | None:
        connection = await self._usable()
        held = self._held.setdefault(tenant_id, [])
        with translated():
            number = await self._free_place(connection, tenant_id, held)
        if number is None:
            return None
        insort(held, number)
        return Place(tenant_id, number, connection)

    async def _free_place(
        self, connection: psycopg.AsyncConnection[Any] | None, tenant_id: int, held: list[int]
    ) -> int | None:
        if connection is None:
            rows = await self._ask(_FLEETING, [tenant_id, tenant_id, held])
        else:
            cursor = await connection.execute(
                "select signalbox.begin_long_poll_of(%s::int, %s::int[])", [tenant_id, held]
            )
            rows = await cursor.fetchall()
        return rows[0][0] if rows else None

    async def _limited_tenant(self, queue: str) -> int | None:
        """Return the tenant whose limit applies; remember for a moment that a queue has none."""
        rows = await self._ask(LONG_POLL_LIMIT, [queue])
        if not rows:
            raise QueueNotFound
        tenant_id, limited = rows[0]
        if not limited:
            now = time.monotonic()
            if len(self._unlimited) > MAX_BELIEVED:
                self._unlimited = {name: until for name, until in self._unlimited.items() if until > now}
            self._unlimited[queue] = now + BELIEVE_SECONDS
        return tenant_id if limited else None

    async def _give_back(self, place: Place) -> None:
        async with self._turn:
            if place.connection is not self._connection:
                return  # the connection was lost, and the place with it
            if place.connection is None:
                self._held[place.tenant_id].remove(place.number)
                return
            try:
                await place.connection.execute(
                    "select signalbox.end_long_poll_of(%s::int, %s::int)", [place.tenant_id, place.number]
                )
            except psycopg.Error:
                await self.disconnect()  # the only way to be sure that the place is released
                return
            self._held[place.tenant_id].remove(place.number)
            if self._linger:
                self._linger.cancel()
            self._linger = asyncio.get_running_loop().call_later(LINGER_SECONDS, lambda: self._start(self._leave()))

    def _give_back_unwanted(self, taking: asyncio.Task[Place | None]) -> None:
        if not taking.cancelled() and taking.exception() is None:
            self.give_back(taking.result())

    async def _usable(self) -> psycopg.AsyncConnection[Any] | None:
        if self._connection is None or not is_alive(self._connection):
            connection = await self._connect()
            if connection is None:
                return None
            await self.disconnect()
            self._connection = connection
        return self._connection

    async def _leave(self) -> None:
        async with self._turn:
            if not any(self._held.values()):
                await self.disconnect()

    async def disconnect(self) -> None:
        """Close the connection, which releases every place on it."""
        if self._linger:
            self._linger.cancel()
            self._linger = None
        self._held.clear()
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
