"""Receiving and reading that wait for news, and the place of each waiting receiver among those its tenant may have.

The place is a session's advisory lock: whoever dies gives it back. A source that has one connection (a DSN, the
caller's own) takes it there; of a pool, one connection is kept for as long as the wait lasts. Behind a pooler in
transaction mode no session lasts, and no place is taken.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Protocol, TypeVar

import psycopg
from psycopg.rows import tuple_row

from signalbox import arguments, pooling, statements
from signalbox.async_connections import AsyncConnections
from signalbox.connections import Connections
from signalbox.errors import translated
from signalbox.listening import shared_listener, stream_key
from signalbox.messages import Message
from signalbox.pauses import jittered
from signalbox.statements import Statement

#: How long to wait at most before looking again: news may be missed, and delays and expired leases are not announced.
LOOK_SECONDS = 1.0

T = TypeVar("T")


def receive_waiting(
    connections: Connections, queue: str, receive: Callable[[], list[Message]], wait_seconds: float
) -> list[Message]:
    """What `receive` gives, or the first that it gives within `wait_seconds`."""
    ends_at = time.monotonic() + arguments.seconds("wait_seconds", wait_seconds)
    messages = receive()
    if messages or not wait_seconds:
        return messages
    with _place(connections, queue):
        return _look_until(connections, queue, receive, ends_at)


async def receive_waiting_async(
    connections: AsyncConnections, queue: str, receive: Callable[[], Awaitable[list[Message]]], wait_seconds: float
) -> list[Message]:
    """The same for asyncio."""
    ends_at = time.monotonic() + arguments.seconds("wait_seconds", wait_seconds)
    messages = await receive()
    if messages or not wait_seconds:
        return messages
    async with _async_place(connections, queue):
        return await _look_until_async(connections, queue, receive, ends_at)


def read_waiting(connections: Connections, stream: str, read: Callable[[], list[T]], wait_seconds: float) -> list[T]:
    """The messages that `read` returns, or the first that it returns within `wait_seconds`."""
    ends_at = time.monotonic() + arguments.seconds("wait_seconds", wait_seconds)
    messages = read()
    if messages or not wait_seconds:
        return messages
    return _look_until(connections, stream_key(stream), read, ends_at)


async def read_waiting_async(
    connections: AsyncConnections, stream: str, read: Callable[[], Awaitable[list[T]]], wait_seconds: float
) -> list[T]:
    """The same for asyncio."""
    ends_at = time.monotonic() + arguments.seconds("wait_seconds", wait_seconds)
    messages = await read()
    if messages or not wait_seconds:
        return messages
    return await _look_until_async(connections, stream_key(stream), read, ends_at)


def _look_until(connections: Connections, key: str, look: Callable[[], list[T]], ends_at: float) -> list[T]:
    """Call `look` after each announcement, and periodically without one, until it returns messages or time is over."""
    with _waiter(connections.dsn, key) as waiter:
        while not (messages := look()) and (left := ends_at - time.monotonic()) > 0:
            waiter.wait(min(left, jittered(LOOK_SECONDS)))
            waiter.clear()  # before the look: what is announced after it wakes the next wait
    return messages


async def _look_until_async(
    connections: AsyncConnections, key: str, look: Callable[[], Awaitable[list[T]]], ends_at: float
) -> list[T]:
    """The same for asyncio."""
    with _async_waiter(connections.dsn, key) as waiter:
        while not (messages := await look()) and (left := ends_at - time.monotonic()) > 0:
            await waiter.wait(min(left, jittered(LOOK_SECONDS)))
            waiter.clear()  # before the look: what is announced after it wakes the next wait
    return messages


class _Waiter(Protocol):
    def wait(self, timeout: float) -> bool: ...

    def clear(self) -> None: ...


class _AsyncWaiter(Protocol):
    async def wait(self, timeout: float) -> bool: ...

    def clear(self) -> None: ...


class _Sleeper:
    """What waits where nobody can listen: the time passes."""

    def wait(self, timeout: float) -> bool:
        time.sleep(timeout)
        return False

    def clear(self) -> None:
        """Nothing was announced."""


class _AsyncSleeper:
    """The same for asyncio."""

    async def wait(self, timeout: float) -> bool:
        await asyncio.sleep(timeout)
        return False

    def clear(self) -> None:
        """Nothing was announced."""


@contextmanager
def _waiter(dsn: str | None, queue: str) -> Iterator[_Waiter]:
    if dsn is None:
        yield _Sleeper()
        return
    with shared_listener(dsn).waiter(queue) as waiter:
        yield waiter


@contextmanager
def _async_waiter(dsn: str | None, queue: str) -> Iterator[_AsyncWaiter]:
    if dsn is None:
        yield _AsyncSleeper()
        return
    with shared_listener(dsn).async_waiter(queue) as waiter:
        yield waiter


@contextmanager
def _place(connections: Connections, queue: str) -> Iterator[None]:
    if pooling.is_pooled():
        yield
        return
    begin = statements.begin_long_poll(queue)
    with connections.borrow() as connection:
        place = _run(connection, begin)
        if place is not None and not connections.lasting:
            try:
                yield
            finally:
                _run(connection, statements.end_long_poll(queue, place))
            return
    try:
        yield
    finally:
        if place is not None:
            with connections.borrow() as connection:
                _run(connection, statements.end_long_poll(queue, place))


@asynccontextmanager
async def _async_place(connections: AsyncConnections, queue: str) -> AsyncIterator[None]:
    if pooling.is_pooled():
        yield
        return
    begin = statements.begin_long_poll(queue)
    async with connections.borrow() as connection:
        place = await _run_async(connection, begin)
        if place is not None and not connections.lasting:
            try:
                yield
            finally:
                await _run_async(connection, statements.end_long_poll(queue, place))
            return
    try:
        yield
    finally:
        if place is not None:
            async with connections.borrow() as connection:
                await _run_async(connection, statements.end_long_poll(queue, place))


def _run(connection: psycopg.Connection[Any], statement: Statement[T]) -> T:
    with translated():
        cursor = connection.cursor(row_factory=tuple_row)
        return statement.read(cursor.execute(statement.sql, statement.parameters).fetchall())


async def _run_async(connection: psycopg.AsyncConnection[Any], statement: Statement[T]) -> T:
    with translated():
        cursor = connection.cursor(row_factory=tuple_row)
        await cursor.execute(statement.sql, statement.parameters)
        return statement.read(await cursor.fetchall())
