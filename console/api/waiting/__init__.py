"""Long polls: the hub of this process waits for messages on behalf of requests, with neither a thread nor a connection.

Decision 25 says how it is done. The hub belongs to the loop in which requests are served, and lives as long as that.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from functools import cache
from types import FrameType
from typing import Any

from console.api.core import database
from console.api.waiting.hub import Hub


@cache
def shared_hub() -> Hub:
    """The hub of this process, made at its first use."""
    return Hub(database.client(), database.pool(), database.find_dsn)


def stop() -> None:
    """Answer every waiting request, and let no more wait."""
    if shared_hub.cache_info().currsize:
        shared_hub().stop()


def stop_on_signals() -> None:
    """Have SIGTERM and SIGINT stop the waiting first, then do what they did.

    The server would let requests finish before it says that it ends, and these take their time.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        earlier = signal.getsignal(number)
        if callable(earlier):
            signal.signal(number, _stopping(loop, earlier))


async def close() -> None:
    """Let go of every connection; what is under way is done first."""
    if shared_hub.cache_info().currsize:
        await shared_hub().close()
        shared_hub.cache_clear()


def _stopping(loop: asyncio.AbstractEventLoop, earlier: Any) -> Any:
    def handle(number: int, frame: FrameType | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop)
        earlier(number, frame)

    return handle
