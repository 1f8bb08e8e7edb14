"""Waking receivers: one LISTEN connection for a process, whatever the number of queues and waiters.

The database announces queues that have something to receive on the channel `signalbox_ready`, and streams that
have something to read on `signalbox_appended`, after the commit that put it there. A wake-up is a hint: it may be
late, spurious or, while the connection is down, missing. So a waiter always waits with a timeout, and then looks;
where LISTEN is impossible (PgBouncer in transaction mode, with no other way to the database) that polling is all
there is, and enough.
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

from signalbox import epochs, pooling
from signalbox.connections import lasting_dsn
from signalbox.logs import in_brief
from signalbox.pauses import Backoff

#: How often the listening thread looks whether anybody still waits, in seconds.
DESERTED_CHECK_SECONDS = 0.5

#: The channel that announces streams; signalbox_ready announces queues.
APPENDED = "signalbox_appended"

logger = logging.getLogger(__name__)


def stream_key(stream: str) -> str:
    """The key under which readers of a stream wait; no queue can have such a name."""
    return f"stream {stream}"


class Waiter:
    """Lets a thread wait for its queue. Clear it, look into the queue, and wait if there was nothing."""

    def __init__(self) -> None:
        self._woken = threading.Event()
        self.wake = self._woken.set
        self.clear = self._woken.clear

    def wait(self, timeout: float) -> bool:
        """Wait until the queue is announced, at most `timeout` seconds. Was it?"""
        return self._woken.wait(timeout)


class AsyncWaiter:
    """Lets a task wait for its queue; used like `Waiter`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self.clear = self._woken.clear

    def wake(self) -> None:
        """Wake the task, from any thread."""
        with suppress(RuntimeError):  # the loop has ended, and with it whoever waited
            self._loop.call_soon_threadsafe(self._woken.set)

    async def wait(self, timeout: float) -> bool:
        """Wait until the queue is announced, at most `timeout` seconds. Was it?"""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), timeout)
        return self._woken.is_set()


class Listener:
    """Calls back whoever waits for a queue when the database announces it.

    Its thread and connection start with the first waiter and end with the last. `shared_listener` gives
    the one of this process. Without a DSN nobody is ever called.
    """

    def __init__(self, dsn: str | None) -> None:
        self._dsn = None if dsn is None else lasting_dsn(dsn, "signalbox listener")
        self._lock = threading.Lock()
        self._callbacks: dict[str, list[Callable[[], None]]] = {}
        self._thread: threading.Thread | None = None
        self._deserted = threading.Event()
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
                    self._deserted.set()

    @contextmanager
    def waiter(self, queue: str) -> Iterator[Waiter]:
        """Something a thread can wait on for the queue."""
        waiter = Waiter()
        with self.on_ready(queue, waiter.wake):
            yield waiter

    @contextmanager
    def async_waiter(self, queue: str) -> Iterator[AsyncWaiter]:
        """Something a task can wait on for the queue."""
        waiter = AsyncWaiter()
        with self.on_ready(queue, waiter.wake):
            yield waiter

    def _start(self) -> None:
        """Start the thread unless one runs; the lock is held."""
        self._deserted.clear()
        if self._thread is None and self._dsn is not None:
            self._thread = threading.Thread(target=self._listen, name="signalbox-listener", daemon=True)
            self._thread.start()

    def _listen(self) -> None:
        backoff = Backoff(first=0.5, longest=30.0)
        while not self._ends():
            try:
                with epochs.connect(self._dsn or "", autocommit=True) as connection:
                    connection.execute("listen signalbox_ready")
                    connection.execute(f"listen {APPENDED}")
                    backoff.reset()
                    self.connected.set()
                    self._wake(self._queues())  # what was announced while nobody listened
                    self._follow(connection)
            except psycopg.Error as error:
                logger.warning("Not listening for wake-ups, receivers poll instead: %s", in_brief(error))
                self._deserted.wait(backoff.pause())
            finally:
                self.connected.clear()

    def _ends(self) -> bool:
        """Does nobody wait any more? Decided under the lock: a later waiter starts a new thread."""
        with self._lock:
            if not self._callbacks:
                self._thread = None
            return self._thread is None

    def _follow(self, connection: psycopg.Connection[Any]) -> None:
        while not self._deserted.is_set():
            for notification in connection.notifies(timeout=DESERTED_CHECK_SECONDS):
                names = notification.payload.split(",")
                self._wake([stream_key(name) for name in names] if notification.channel == APPENDED else names)

    def _queues(self) -> list[str]:
        with self._lock:
            return list(self._callbacks)

    def _wake(self, queues: Sequence[str]) -> None:
        with self._lock:
            callbacks = [callback for queue in queues for callback in self._callbacks.get(queue, ())]
        for callback in callbacks:
            try:
                callback()
            except Exception:
                logger.exception("A callback of a waiter for %s failed", ", ".join(queues))


_shared: dict[tuple[int, str], Listener] = {}
_shared_lock = threading.Lock()


def shared_listener(dsn: str) -> Listener:
    """The listener of this process for the database; a forked child gets its own.

    Behind a pooler it listens past it, where there is a way, and else not at all.
    """
    with _shared_lock:
        return _shared.setdefault((os.getpid(), dsn), Listener(pooling.session_dsn(dsn)))


def _unlock_in_child() -> None:
    """Whoever held the lock when the process forked is not in the child."""
    global _shared_lock
    _shared_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_child)
