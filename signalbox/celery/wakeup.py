"""Wake-ups for the thread or event loop that drains a connection: messages, mail, and room after acknowledgements.

The event loop of a Celery worker answers commands while its pool is busy.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from signalbox.connections.listening import Listener
from signalbox.connections.reconnect import jittered


class Bell:
    """A bell that any thread may ring; it wakes the draining thread or event loop."""

    def __init__(self) -> None:
        self._rung = threading.Event()
        self.clear = self._rung.clear
        self.also: Callable[[], None] | None = None

    def ring(self) -> None:
        """Wake the draining thread or event loop."""
        self._rung.set()
        if also := self.also:
            also()

    def wait(self, timeout: float) -> bool:
        """Wait until it rings, at most `timeout` seconds; True when it rang."""
        return self._rung.wait(timeout)


class Watch:
    """The time of the next read of a queue or mailbox: after a wake-up, and periodically without one."""

    def __init__(self, bell: Bell, listener: Listener | None, name: str, interval: float) -> None:
        self._bell = bell
        self._interval = interval
        self._news = True
        self.due_at = 0.0
        self._ends = ExitStack()
        if listener is not None:
            self._ends.enter_context(listener.on_ready(name, self._hear))

    def _hear(self) -> None:
        self._news = True
        self.due_at = 0.0
        self._bell.ring()

    def is_due(self, now: float) -> bool:
        """Return whether a wake-up came, or the interval since the last read is over."""
        return self._news or now >= self.due_at

    def start_check(self) -> None:
        """Note the start of a read: only later wake-ups count."""
        self._news = False

    def note_empty(self) -> None:
        """Note that no message is left: the next read follows a wake-up or the interval."""
        self.due_at = 0.0 if self._news else time.monotonic() + jittered(self._interval)

    def note_more(self) -> None:
        """Note that there may be more messages: the next read is at once."""
        self._news = True

    def close(self) -> None:
        """Stop listening for wake-ups of the queue or mailbox."""
        self._ends.close()


class LoopDriver:
    """The driver of a transport in an event loop: each turn of the loop after a wake-up delivers messages.

    The loop sleeps in `poll`. A byte wakes it when another thread rings, or when there is more to deliver.
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
        """Note a wake-up, and end the sleep of the loop."""
        self._pending = True
        if threading.get_ident() != self._thread:
            self._wake()

    def _wake(self) -> None:
        with suppress(OSError):  # a full socket wakes as well; a closed one belongs to no loop
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
            self._wake()  # the loop first handles what was delivered
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
        """Stop driving the transport."""
        self._set_alarm(float("inf"))
        self._loop.on_tick.discard(self._tick)
        with suppress(Exception):  # a loop that was reset has no such reader
            self._loop.remove_reader(self._reader.fileno())
        self._reader.close()
        self._writer.close()
