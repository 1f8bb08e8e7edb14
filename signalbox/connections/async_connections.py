# Generated from signalbox/connections/connections.py by `make generate`: change that file, then generate this one.
"""The asyncio twin of `signalbox.connections.connections`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any, Protocol

import psycopg

from signalbox.connections import pooling, primary_selection
from signalbox.connections.connections import is_alive, is_idle


class AsyncPool(Protocol):
    """A pool as psycopg_pool makes them: leaving the block commits and gives the connection back."""

    def connection(self) -> AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]: ...


AsyncSource = str | psycopg.AsyncConnection[Any] | AsyncPool


class AsyncConnections:
    """The source of a client's connection: it lends one for each call."""

    #: True when every call is a transaction of its own, False when the caller decides.
    commits_each_call = True

    #: True when every borrow gives the same connection, on which a lock of the session can be held.
    lasting = True

    #: The address for a connection that listens; None where only the caller knows it.
    dsn: str | None = None

    def borrow(self) -> AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]:
        """Lend a connection for the block."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close the client's own connection; a source of the caller's connections closes none."""


class AsyncCallersConnection(AsyncConnections):
    """The caller's own connection: calls join the caller's transaction and never commit it."""

    commits_each_call = False

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    @asynccontextmanager
    async def borrow(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        yield self._connection


class AsyncPooledConnections(AsyncConnections):
    """A connection of the caller's pool for each call."""

    lasting = False

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


class AsyncOwnConnection(AsyncConnections):
    """One autocommit connection, opened at the first call and again when it is lost; threads and tasks take turns.

    A forked child opens its own: two processes on one socket would read each other's answers.
    """

    def __init__(self, dsn: str, connect_options: dict[str, Any]) -> None:
        self.dsn = dsn
        self._connect_options = pooling.prepared(connect_options)
        self._forget()

    def _forget(self) -> None:
        self._turn = asyncio.Lock()
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._owner = os.getpid()  # last, so that no thread of a child uses the parent's

    @asynccontextmanager
    async def borrow(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        if self._owner != os.getpid():
            self._forget()
        async with self._turn:
            connection = await self._usable()
            try:
                yield connection
            except psycopg.errors.ReadOnlySqlTransaction:
                await connection.close()  # the next call looks for the server that takes writes
                raise
            finally:
                if not is_idle(connection):
                    await connection.close()

    async def _usable(self) -> psycopg.AsyncConnection[Any]:
        if self._connection is None or not is_alive(self._connection):
            await self.close()
            self._connection = await primary_selection.connect_async(
                self.dsn or "", autocommit=True, **self._connect_options
            )
        return self._connection

    async def close(self) -> None:
        """Close the connection, if it is open."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None


def connections_of(source: AsyncSource, connect_options: dict[str, Any]) -> AsyncConnections:
    """Wrap a DSN, a connection or a pool as a source of connections."""
    if isinstance(source, str):
        return AsyncOwnConnection(source, connect_options)
    if isinstance(source, psycopg.AsyncConnection):
        return AsyncCallersConnection(source)
    return AsyncPooledConnections(source)


def one_transaction(connection: psycopg.AsyncConnection[Any]) -> AbstractAsyncContextManager[object]:
    """Run the calls of the block in one transaction: the caller's if one is open, otherwise a new one."""
    return connection.transaction() if connection.autocommit and is_idle(connection) else nullcontext()
