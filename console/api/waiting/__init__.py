"""Long polls: `receive_waiting` waits for messages on behalf of a request, and holds neither a thread nor a connection.

Decision 25 says how it is done. The hub belongs to the loop in which requests are served, and lives as long as that.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from types import FrameType
from typing import Any

from console.api import database
from console.api.waiting.hub import Hub
from queues.connections import dsn
from signalbox import Message

_hub: Hub | None = None


async def receive_waiting(
    queue: str, max_messages: int, visibility_timeout: float | None, consumer: str | None, wait_seconds: float
) -> list[Message]:
    """What the queue has, or the first that it gets within `wait_seconds`; nothing when that time is over.

    Cancel it when whoever asked has gone. Messages that it gave and nobody took go back by `give_back`.
    """
    return await _of_this_process().receive(queue, max_messages, visibility_timeout, consumer, wait_seconds)


def give_back(messages: list[Message]) -> None:
    """Nobody took these: others may have them at once."""
    _of_this_process().give_back(messages)


def stop() -> None:
    """Answer whoever waits, and let nobody wait any more."""
    if _hub is not None:
        _hub.stop()


def stop_when_told_to_end() -> None:
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
    global _hub
    if _hub is not None:
        await _hub.close()
        _hub = None


def _stopping(loop: asyncio.AbstractEventLoop, earlier: Any) -> Any:
    def handle(number: int, frame: FrameType | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop)
        earlier(number, frame)

    return handle


def _of_this_process() -> Hub:
    global _hub
    if _hub is None:
        _hub = Hub(database.client(), database.pool(), _dsn)
    return _hub


async def _dsn() -> str:
    """Found in a thread, which may have to start the embedded server."""
    return await asyncio.to_thread(dsn)
