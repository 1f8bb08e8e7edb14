"""Telling the console who receives: each worker announces itself while it lives."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime

import signalbox
from signalbox.verbs import AsyncVerbs
from signalbox.worker.options import Options
from signalbox.worker.outages import persist

#: Well within the minute after which a silent consumer no longer counts, in seconds.
ANNOUNCE_SECONDS = 10.0


class Presence:
    """The name under which a worker receives, and its announcements."""

    def __init__(self, client: AsyncVerbs, options: Options) -> None:
        self.consumer = options.consumer or f"{socket.gethostname()}:{os.getpid()}"
        self._client = client
        self._queue = options.queue
        self._details: dict[str, object] = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "handler": options.handler_name,
            "concurrency": options.concurrency,
            "prefetch": options.prefetch,
            "version": signalbox.__version__,
            "started_at": datetime.now(UTC).isoformat(),
        }

    async def announce(self, running: Callable[[], int]) -> None:
        """Announce the worker now and every ten seconds, until cancelled."""
        while True:
            await persist("announce this worker", lambda: self._say(running()))
            await asyncio.sleep(ANNOUNCE_SECONDS)

    async def _say(self, running: int) -> None:
        details = self._details | {"running": running}
        await self._client.announce_consumer(self._queue, self.consumer, details)
