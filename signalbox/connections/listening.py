"""Waking receivers: one LISTEN connection for a process, whatever the number of queues and waiters.

After a commit the database announces queues with messages to receive on the channel `signalbox_ready`, and streams with
messages to read on the channel `signalbox_appended`. A wake-up is a hint: it may be late, superfluous or, while the
connection is down, missing. So a waiter always waits with a timeout and then asks the database. Where LISTEN is
impossible (PgBouncer in transaction mode without DATABASE_DIRECT_URL), this polling is enough.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from signalbox.connections import pooling, primary_selection
from signalbox.connections.connections import lasting_dsn
from signalbox.connections.reconnect import Backoff
from signalbox.logs import in_brief

#: Seconds between two checks of the listening thread whether a waiter is left.
UNUSED_CHECK_SECONDS = 0.5

#: The channel that announces streams; signalbox_ready announces queues.
APPENDED = "signalbox_appended"

logger = logging.getLogger(__name__)


def stream_key(stream: str) -> str:
    """The key under which readers of a stream wait; no queue can have such a name."""
    return f"stream {stream}"


def in_loop(callback: Callable[[], object]) -> Callable[[], None]:
    """Make a callback that any thread may call: it runs in the event loop of this task, unless that has ended."""
    loop = asyncio.get_running_loop()

    def call() -> None:
        with suppress(RuntimeError):  # the loop and its waiters have ended
            loop.call_soon_threadsafe(callback)

    return call


class Waiter:
    """A wait of a thread for a wake-up: clear the waiter, receive, and wait if there was no message."""

    def __init__(self) -> None:
        self._woken = threading.Event()
        self.wake = self._woken.set
        self.clear = self._woken.clear

    def wait(self, timeout: float) -> bool:
        """Wait until the queue is announced, at most `timeout` seconds; True when it was."""
        return self._woken.wait(timeout)


class AsyncWaiter:
    """A wait of a task for a wake-up, used like `Waiter`."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self.wake = in_loop(self._woken.set)
        self.clear = self._woken.clear

    async def wait(self, timeout: float) -> bool:
        """Wait until the queue is announced, at most `timeout` seconds; True when it was."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), timeout)
        return self._woken.is_set()


class Listener:
    """The listener of a process: it calls the waiters of a queue when the database announces the queue.

    Its thread and connection start with the first waiter and end with the last. `shared_listener` gives
    the listener of this process. A listener without a DSN calls nothing.
    """

    def __init__(self, dsn: str | None) -> None:
        self._dsn = None if dsn is None else lasting_dsn(dsn, "signalbox listener")
        self._lock = threading.Lock()
        self._callbacks: dict[str, list[Callable[[], None]]] = {}
        self._thread: threading.Thread | None = None
        self._unused = threading.Event()
        #: Set while the connection listens.
        self.connected = threading.Event()

    @contextmanager
    def on_ready(self, queue: str, callback: Callable[[], None]) -> Iterator[None]:
        """Call `callback`, in the listening thread, each time the queue is announced while the block runs."""
        with self._lock:
            self._callbacks.setdefault(queue, []).append(callback)
            self._start()
        try:
            yield
        finally:
            with self._lock:
                self._callbacks[queue].remove(callback)
                if not self._callbacks[queue]:
                    del self._callbacks[queue]
                if not self._callbacks:
                    self._unused.set()

    @contextmanager
    def waiter(self, queue: str) -> Iterator[Waiter]:
        """A waiter of a thread for the queue."""
        waiter = Waiter()
        with self.on_ready(queue, waiter.wake):
            yield waiter

    def _start(self) -> None:
        """Start the thread unless it runs already; the caller holds the lock."""
        self._unused.clear()
        if self._thread is None and self._dsn is not None:
            self._thread = threading.Thread(target=self._listen, name="signalbox-listener", daemon=True)
            self._thread.start()

    def _listen(self) -> None:
        backoff = Backoff(first=0.5, longest=30.0)
        while not self._is_unused():
            try:
                with primary_selection.connect(self._dsn or "", autocommit=True) as connection:
                    connection.execute("listen signalbox_ready")
                    connection.execute(f"listen {APPENDED}")
                    backoff.reset()
                    self.connected.set()
                    self._wake(list(self._callbacks))  # announcements may have been lost
                    self._follow(connection)
            except psycopg.Error as error:
                logger.warning("Not listening for wake-ups, receivers poll instead: %s", in_brief(error))
                self._unused.wait(backoff.pause())
            finally:
                self.connected.clear()

    def _is_unused(self) -> bool:
        """Return whether the last waiter has gone. Decided under the lock: a later waiter starts a new thread."""
        with self._lock:
            if not self._callbacks:
                self._thread = None
            return self._thread is None

    def _follow(self, connection: psycopg.Connection[Any]) -> None:
        while not self._unused.is_set():
            for notification in connection.notifies(timeout=UNUSED_CHECK_SECONDS):
                names = notification.payload.split(",")
                self._wake([stream_key(name) for name in names] if notification.channel == APPENDED else names)

    def _wake(self, queues: Sequence[str]) -> None:
        with self._lock:
            callbacks = [callback for queue in queues for callback in self._callbacks.get(queue, ())]
        for callback in callbacks:
            try:
                callback()
            except Exception:
                logger.exception("A callback of a waiter for %s failed", ", ".join(queues))


_shared: dict[tuple[int, str], Listener] = {}


def shared_listener(dsn: str) -> Listener:
    """The listener of this process for the database; a forked child has its own.

    Behind a pooler the listener connects to DATABASE_DIRECT_URL; without that address it does not listen.
    """
    return _shared.setdefault((os.getpid(), dsn), Listener(pooling.session_dsn(dsn)))
