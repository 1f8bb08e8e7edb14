"""Delivering inside the event loop of a Celery worker, which goes on answering commands while its pool is busy."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from typing import Any


class LoopDriver:
    """Looks for a transport at each turn of the loop at which there is something to look for.

    The loop sleeps in `poll`; whoever rings from another thread, or finds that there is more to do, wakes it by a byte.
    """

    def __init__(self, transport: Any, loop: Any) -> None:
        self._transport = transport
        self._loop = loop
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.setblocking(False)
        self._thread = threading.get_ident()
        self._pending = True
        self._look_at = 0.0
        self._alarm: Any = None
        loop.add_reader(self._reader.fileno(), self._drain)
        loop.on_tick.add(self._tick)

    def ring(self) -> None:
        """There is something to look for."""
        self._pending = True
        if threading.get_ident() != self._thread:
            self._wake()

    def _wake(self) -> None:
        with suppress(OSError):  # a full socket wakes as well; a closed one has nobody to wake
            self._writer.send(b"\0")

    def _drain(self) -> None:
        with suppress(OSError):
            self._reader.recv(4096)

    def _tick(self) -> None:
        now = time.monotonic()
        if not self._pending and now < self._look_at:
            return
        self._pending = False
        if self._transport.deliver():
            self._pending = True
            self._wake()  # what it led to comes first, then the next look
            return
        self._look_at = self._transport.next_look(now)
        self._set_alarm(self._look_at - now)

    def _set_alarm(self, seconds: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if seconds < float("inf"):
            self._alarm = self._loop.call_later(max(seconds, 0.0), self._look)

    def _look(self) -> None:
        self._pending = True
        self._wake()

    def close(self) -> None:
        """Look no more."""
        self._set_alarm(float("inf"))
        self._loop.on_tick.discard(self._tick)
        with suppress(Exception):  # a loop that was reset does not know it any more
            self._loop.remove_reader(self._reader.fileno())
        self._reader.close()
        self._writer.close()
