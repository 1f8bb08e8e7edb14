"""Long polls: one hub in each process waits for messages on behalf of requests, without a thread or connection each.

Decision 25 describes it. The hub belongs to the event loop that serves requests, and lives as long as the loop.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from functools import cache
from types import FrameType
from typing import Any

from console.api.core import database
from console.api.waiting import streams
from console.api.waiting.hub import Hub


@cache
def shared_hub() -> Hub:
    """Return the hub of this process; the first call creates it."""
    return Hub(database.client(), database.pool(), database.find_dsn)


def stop() -> None:
    """Answer every waiting request, and let no other request wait."""
    streams.stop()
    if shared_hub.cache_info().currsize:
        shared_hub().stop()


def stop_on_signals() -> None:
    """Stop the waiting requests at SIGTERM and SIGINT, then call the previous signal handlers.

    The server lets requests finish before it ends, and waiting requests would take their whole time.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        earlier = signal.getsignal(number)
        if callable(earlier):
            signal.signal(number, _stopping(loop, earlier))


async def close() -> None:
    """Close every connection after the running work is done."""
    streams.start()
    if shared_hub.cache_info().currsize:
        await shared_hub().close()
        shared_hub.cache_clear()


def _stopping(loop: asyncio.AbstractEventLoop, earlier: Any) -> Any:
    def handle(number: int, frame: FrameType | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop)
        earlier(number, frame)

    return handle
