"""The API's way to the database: an asynchronous pool for the process, and a few threads for what is Django's.

The pool opens at its first use, in the loop that serves requests. Requests that wait for messages hold no connection.
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
from signalbox.connections import pooling, primary_selection
from signalbox.connections.connections import is_alive
from signalbox.connections.unavailable import READ_ONLY, cause_of

# For a connection to come free; a request that waits longer is refused. Half of what our clients wait for an answer:
# they are to hear that, and not to give up in the same moment.
BORROW_SECONDS = 5.0
# Pauses between attempts double: those of a long outage would last for minutes beyond it. The next request starts over.
RECONNECT_SECONDS = 5.0
THREADS = 4  # for calls of the control plane: each has a connection of Django's while it works

P = ParamSpec("P")
T = TypeVar("T")


class Connection(psycopg.AsyncConnection[Any]):
    """Connect to the right one of several hosts."""

    @classmethod
    async def connect(cls, conninfo: str = "", **options: Any) -> psycopg.AsyncConnection[Any]:  # type: ignore[override]
        return await primary_selection.connect_async(conninfo, **options)


class Pool(AsyncConnectionPool[psycopg.AsyncConnection[Any]]):
    """A pool that opens itself when it is first asked for a connection."""

    async def getconn(self, timeout: float | None = None) -> psycopg.AsyncConnection[Any]:
        if not self._opened:
            await self.open()  # a second call finds it open
        return await super().getconn(timeout)

    @asynccontextmanager
    async def connection(self, timeout: float | None = None) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """Give up a connection to a read-only database: it would stay so when the database is not."""
        async with super().connection(timeout) as connection:
            try:
                yield connection
            except psycopg.Error as error:
                if cause_of(error) is READ_ONLY:
                    await connection.close()
                raise


@cache
def pool() -> Pool:
    """The pool of this process. Each statement commits by itself unless a transaction is begun."""
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
    """The verbs over the pool, with the store of large bodies."""
    return AsyncClient(pool(), bodies=bodies.store())


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call what speaks to the database through Django, in one of a few threads; for calls that do not wait for news."""
    return await asyncio.get_running_loop().run_in_executor(_threads(), partial(_call, function, *args, **kwargs))


async def close() -> None:
    """Close every connection at the end of the process. A later call would open new ones."""
    if pool.cache_info().currsize:
        await pool().close()
    if _threads.cache_info().currsize:
        _threads().shutdown(wait=False)
    for made in (client, pool, _threads):
        made.cache_clear()


async def _check(connection: psycopg.AsyncConnection[Any]) -> None:
    """Leave out connections that a restart has cut off, or that lead to a replaced server; runs no statement."""
    if not is_alive(connection):
        raise psycopg.OperationalError("the server has closed this connection, or was replaced")


async def find_dsn() -> str:
    """Find the address in a thread, which may have to start the embedded server."""
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
