"""Database access of the API: an asynchronous pool for the process, and a few threads for Django's connections.

The pool opens at its first use, in the event loop that serves requests. Waiting requests hold no connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Any, ParamSpec, TypeVar

import psycopg
from django.conf import settings
from django.db import connections
from psycopg_pool import AsyncConnectionPool

from queues import bodies
from queues.database.connections import dsn
from signalbox import AsyncClient
from signalbox.calls.call import Call
from signalbox.connections import pooling, primary_selection
from signalbox.connections.connections import is_alive
from signalbox.connections.unavailable import READ_ONLY, cause_of
from signalbox.errors import translated

# Seconds to wait for a free connection before the request is refused. Half of the clients' timeout, so that clients
# receive the refusal before they give up.
BORROW_SECONDS = 5.0
# The longest pause between attempts to connect. Pauses double, so without a limit they would outlast a long outage.
RECONNECT_SECONDS = 5.0
THREADS = 4  # for the control plane; each thread holds one Django connection while it works

P = ParamSpec("P")
T = TypeVar("T")


class Connection(psycopg.AsyncConnection[Any]):
    """A connection to the primary among several hosts."""

    @classmethod
    async def connect(cls, conninfo: str = "", **options: Any) -> psycopg.AsyncConnection[Any]:  # type: ignore[override]
        return await primary_selection.connect_async(conninfo, **options)


class Pool(AsyncConnectionPool[psycopg.AsyncConnection[Any]]):
    """A connection pool that opens itself when a connection is first requested."""

    async def getconn(self, timeout: float | None = None) -> psycopg.AsyncConnection[Any]:
        if not self._opened:
            await self.open()  # does nothing if the pool is open
        return await super().getconn(timeout)

    @asynccontextmanager
    async def connection(self, timeout: float | None = None) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """Borrow a connection. A connection to a read-only database is closed afterwards, so that the next is a new
        one.
        """
        async with super().connection(timeout) as connection:
            try:
                yield connection
            except psycopg.Error as error:
                if cause_of(error) is READ_ONLY:
                    await connection.close()
                raise


@cache
def pool() -> Pool:
    """Return the pool of this process. Each statement commits by itself unless a transaction is begun."""
    return Pool(
        find_dsn,
        open=False,
        min_size=1,
        max_size=settings.API_DATABASE_CONNECTIONS,
        timeout=BORROW_SECONDS,
        reconnect_timeout=RECONNECT_SECONDS,
        connection_class=Connection,
        kwargs=pooling.prepared({"autocommit": True, "application_name": "signalbox api"}),
        check=_check,
    )


@cache
def client() -> AsyncClient:
    """Return a client that uses the pool and the store of large bodies."""
    return AsyncClient(pool(), bodies=bodies.store())


async def run(call: Call[T]) -> T:
    """Run a call that clients have no method for, and return its result."""
    with translated():
        async with pool().connection() as connection:
            return call.read(await (await connection.execute(call.sql, call.parameters)).fetchall())


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that uses Django's connections, in one of THREADS threads. It must not wait for messages."""
    return await asyncio.get_running_loop().run_in_executor(_threads(), partial(_call, function, *args, **kwargs))


async def close() -> None:
    """Close every connection at the end of the process. A later call opens new connections."""
    if pool.cache_info().currsize:
        await pool().close()
    if _threads.cache_info().currsize:
        _threads().shutdown(wait=False)
    for made in (client, pool, _threads):
        made.cache_clear()


async def _check(connection: psycopg.AsyncConnection[Any]) -> None:
    """Raise OperationalError if a restart closed the connection or the server was replaced. Runs no statement."""
    if not is_alive(connection):
        raise psycopg.OperationalError("the server has closed this connection, or was replaced")


async def find_dsn() -> str:
    """Find the database address in a thread, because this may start the embedded server."""
    return await asyncio.to_thread(dsn)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="signalbox-api")


def _call(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return function(*args, **kwargs)
    finally:
        for connection in connections.all(initialized_only=True):
            connection.close_if_unusable_or_obsolete()
