"""Long polls of streams: a read is repeated after each announcement of its stream, and once a second without one.

A waiting read holds no thread and no connection. Reading moves nothing, so a wait may end at any time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import nullcontext

from console.api.core import database
from console.api.waiting.hub import LOOK_SECONDS
from signalbox.connections.listening import AsyncWaiter, shared_listener, stream_key
from signalbox.connections.reconnect import jittered
from signalbox.logs import in_brief
from signalbox.messages import StreamMessage

Read = Callable[[], Awaitable[list[StreamMessage]]]

logger = logging.getLogger(__name__)

_waiters: set[AsyncWaiter] = set()
_stopped = False


async def read_until(read: Read, stream: str, wait_seconds: float) -> list[StreamMessage]:
    """Read, and repeat it until messages come or the wait is over."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + wait_seconds
    waiter, dsn = AsyncWaiter(), await _dsn()
    listening = nullcontext() if dsn is None else shared_listener(dsn).on_ready(stream_key(stream), waiter.wake)
    with listening:
        _waiters.add(waiter)
        try:
            while not (messages := await read()) and (left := ends_at - loop.time()) > 0 and not _stopped:
                await waiter.wait(min(left, jittered(LOOK_SECONDS)))
                waiter.clear()  # before the read: a later announcement ends the next wait
        finally:
            _waiters.discard(waiter)
    return messages


def stop() -> None:
    """Answer all waiting reads and let no other wait, because the process is ending."""
    global _stopped
    _stopped = True
    for waiter in list(_waiters):
        waiter.wake()


def start() -> None:
    """Let reads wait again; the next event loop of the process does."""
    global _stopped
    _stopped = False


async def _dsn() -> str | None:
    """Find the database to listen on; None: reads only poll."""
    try:
        return await database.find_dsn()
    except Exception as error:
        logger.warning("Reads of streams cannot listen yet: %s", in_brief(error))
        return None
