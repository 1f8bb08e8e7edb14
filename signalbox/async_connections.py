"""The sources of `connections.py` for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any, Protocol

import psycopg

from signalbox import epochs, pooling
from signalbox.connections import is_alive, is_idle


class AsyncPool(Protocol):
    """An asynchronous pool as psycopg_pool makes them."""

    def connection(self) -> AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]: ...


AsyncSource = str | psycopg.AsyncConnection[Any] | AsyncPool


class AsyncConnections(Protocol):
    """What a client needs of its source."""

    commits_each_call: bool
    lasting: bool
    dsn: str | None

    def borrow(self) -> AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]: ...

    async def close(self) -> None: ...


class AsyncCallersConnection:
    """The caller's own connection: calls join the caller's transaction and never commit it."""

    commits_each_call = False
    lasting = True
    dsn: str | None = None

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    @asynccontextmanager
    async def borrow(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        yield self._connection

    async def close(self) -> None:
        """Nothing: the connection is the caller's."""


class AsyncPooledConnections:
    """A connection of the caller's pool for each call."""

    commits_each_call = True
    lasting = False
    dsn: str | None = None

    def __init__(self, pool: AsyncPool) -> None:
        self._pool = pool

    @asynccontextmanager
    async def borrow(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        async with self._pool.connection() as connection:
            try:
                yield connection
            except psycopg.errors.ReadOnlySqlTransaction:
                await connection.close()  # so that the pool makes another
                raise

    async def close(self) -> None:
        """Nothing: the pool is the caller's."""


class AsyncOwnConnection:
    """One autocommit connection, opened at the first call and again when it is lost; tasks take turns."""

    commits_each_call = True
    lasting = True

    def __init__(self, dsn: str, connect_options: dict[str, Any]) -> None:
        self.dsn: str | None = dsn
        self._connect_options = pooling.prepared(connect_options)
        self._turn = asyncio.Lock()
        self._connection: psycopg.AsyncConnection[Any] | None = None

    @asynccontextmanager
    async def borrow(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        async with self._turn:
            connection = await self._usable()
            try:
                yield connection
            except psycopg.errors.ReadOnlySqlTransaction:
                await connection.close()  # by now another server is the one that is written to, or this one is again
                raise
            finally:
                if not is_idle(connection):
                    await connection.close()

    async def _usable(self) -> psycopg.AsyncConnection[Any]:
        if self._connection is None or not is_alive(self._connection):
            await self.close()
            self._connection = await epochs.connect_async(self.dsn or "", autocommit=True, **self._connect_options)
        return self._connection

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None


def async_connections_of(source: AsyncSource, connect_options: dict[str, Any]) -> AsyncConnections:
    """The kind of source that `source` is."""
    if isinstance(source, str):
        return AsyncOwnConnection(source, connect_options)
    if isinstance(source, psycopg.AsyncConnection):
        return AsyncCallersConnection(source)
    return AsyncPooledConnections(source)


def async_one_transaction(connection: psycopg.AsyncConnection[Any]) -> AbstractAsyncContextManager[object]:
    """As `one_transaction` of `connections.py`."""
    return connection.transaction() if connection.autocommit and is_idle(connection) else nullcontext()
