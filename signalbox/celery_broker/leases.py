"""What this process has received and not settled: kept alive, acknowledged, given back.

Leases belong to the process, not to a channel or a connection: when the database restarts, Celery drops its connection
and its channels while tasks go on, and those are still to be acknowledged by the handles under which they came.

One thread does what cannot wait for the next receive: it extends each lease every third of its time, settles what
nobody took along, and tells the console who is here. It goes on through outages; what failed, it tries again.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

import psycopg

from signalbox.client import Client
from signalbox.errors import SignalboxError
from signalbox.logs import in_brief
from signalbox.messages import Message
from signalbox.pauses import Backoff

#: An acknowledgement that no receive took along by then is sent by itself, in seconds.
LONELY_ACK_SECONDS = 0.02
#: Handles in one call at most.
BATCH = 1_000
#: How often the garbage of closed channels is looked for, in seconds.
LOOSE_CHECK_SECONDS = 0.5

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Lease:
    """A delivery that is not settled: whose it is, and how long a lease it has."""

    queue: str
    name: str
    seconds: float
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """A delivery that a consumer refused: what the engine is to be told of it."""

    handle: str
    options: Mapping[str, Any]


class Leases:
    """The leases of this process in one database. Safe for threads; a forked child has none."""

    def __init__(self, dsn: str, connect_options: Mapping[str, Any]) -> None:
        self._client = Client(dsn, **connect_options)
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._held: dict[str, Lease] = {}
        self._acks: list[str] = []
        self._doubtful: set[str] = set()
        self._returns: list[str] = []
        self._failures: list[Failure] = []
        self._abandoned: SimpleQueue[str] = SimpleQueue()
        self._loose = 0
        self._chores: dict[object, Any] = {}
        self._news = threading.Event()
        self._shortest = float("inf")
        self._extended_at = time.monotonic()
        self._backoff = Backoff(0.1, 2.0)
        self._thread: threading.Thread | None = None
        self._closing = False
        atexit.register(self.close)

    # What channels say

    def hold(self, messages: Iterable[Message], queue: str) -> None:
        """These were received: keep them until they are settled."""
        with self._lock:
            for message in messages:
                name = str((message.attributes or {}).get("task") or f"message {message.id}")
                self._held[message.receipt_handle] = Lease(queue, name, max(round(message.lease_seconds, 1), 0.1))
                if self._held[message.receipt_handle].seconds < self._shortest:
                    self._shortest = self._held[message.receipt_handle].seconds
                    self._news.set()
            self._start()

    def holds(self, handle: str) -> bool:
        """Is this delivery neither settled nor lost?"""
        lease = self._held.get(handle)
        return lease is not None and not lease.lost

    def name_of(self, handle: str) -> str:
        """Of the task, or of the message where it is none."""
        lease = self._held.get(handle)
        return lease.name if lease else "The message"

    def ack(self, handle: str) -> None:
        """Done. Sent with the next receive, or very soon."""
        with self._lock:
            lease = self._held.pop(handle, None)
            if lease is None:
                return
            if lease.lost:
                logger.warning("%s is done, but its lease had ended: it was or will be delivered again", lease.name)
                return
            self._acks.append(handle)
            self._start()
        self._news.set()

    def fail(self, handle: str, **options: Any) -> None:
        """The consumer refused it: recorded, and retried or buried."""
        with self._lock:
            if self._held.pop(handle, None) is None:
                return
            self._failures.append(Failure(handle, options))
            self._start()
        self._news.set()

    def give_back(self, handles: Iterable[str]) -> None:
        """Not begun: somebody else may have these at once, and no failure is recorded."""
        with self._lock:
            self._returns += [handle for handle in handles if self._held.pop(handle, None) is not None]
            self._start()
        self._news.set()

    def loosen(self, messages: Mapping[str, object]) -> None:
        """Their channel is closed. Whoever still has one may go on and acknowledge it; the others are given back."""
        for handle, message in messages.items():
            if self.holds(handle):
                weakref.finalize(message, self._abandoned.put, handle).atexit = False
                self._loose += 1
        self._news.set()

    def every(self, key: object, chore: Any) -> None:
        """Have the thread call `chore.run(client)` every `chore.seconds` until `forget`."""
        with self._lock:
            self._chores[key] = chore
            self._start()
        self._news.set()

    def forget(self, key: object) -> None:
        """No longer."""
        with self._lock:
            self._chores.pop(key, None)

    # What a receive takes along

    def take_acks(self, most: int = BATCH) -> list[str]:
        """Acknowledgements that wait, for the caller to send; `acked` or `put_back` must follow."""
        with self._lock:
            taken, self._acks = self._acks[:most], self._acks[most:]
            return taken

    def waiting_acks(self) -> int:
        """How many acknowledgements wait."""
        return len(self._acks)

    def put_back(self, handles: list[str]) -> None:
        """They may or may not have been acknowledged: to be sent again."""
        with self._lock:
            self._acks = handles + self._acks
            self._doubtful.update(handles)
        self._news.set()

    def acked(self, answers: Mapping[str, bool]) -> None:
        """What the engine said. One that was refused and not sent before means that its task may run twice."""
        for handle, acked in answers.items():
            if not acked and handle not in self._doubtful:
                logger.warning("A task was done after its lease had ended, and runs again (%s)", handle)
        if self._doubtful:
            self._doubtful.difference_update(answers)

    def settle(self) -> None:
        """Send what waits, now and here; raises what the database raises."""
        if acks := self.take_acks():
            try:
                self.acked(self._client.ack_batch(acks))
            except Exception:
                self.put_back(acks)
                raise
        while self._failures:
            failure = self._failures[0]
            try:
                self._client.nack(failure.handle, **failure.options)
            except SignalboxError as error:
                logger.warning("A failure could not be recorded: %s", in_brief(error))
            del self._failures[0]
        if returns := self._returns[:BATCH]:
            self._client.change_visibility_batch(returns, 0)
            del self._returns[: len(returns)]

    def close(self) -> None:
        """At the end of the process: settle what can be, give back the rest, stop the thread."""
        if os.getpid() != self._owner or self._closing:
            return
        self._closing = True
        self._news.set()
        if self._thread is not None:
            self._thread.join(10)
        with self._lock:
            self._returns += [handle for handle, lease in self._held.items() if not lease.lost]
            self._held.clear()
        try:
            while self._acks or self._returns or self._failures:
                self.settle()
        except (psycopg.Error, SignalboxError) as error:
            logger.warning("Not everything could be given back, what is left ends with its lease: %s", in_brief(error))
        self._client.close()

    # The thread

    def _start(self) -> None:
        if self._thread is None and not self._closing:
            self._thread = threading.Thread(target=self._keep, name="signalbox-leases", daemon=True)
            self._thread.start()

    def _keep(self) -> None:
        while not self._closing:
            self._news.wait(self._pause())
            self._news.clear()
            if self._acks and not self._closing:
                time.sleep(LONELY_ACK_SECONDS)  # a receive may take them along
            try:
                self._work()
                self._backoff.reset()
            except (psycopg.Error, SignalboxError) as error:
                logger.warning("Leases could not be kept just now: %s", in_brief(error))
                time.sleep(self._backoff.pause())
                self._news.set()
            except Exception:
                logger.exception("Keeping leases failed, and goes on")
                time.sleep(self._backoff.pause())

    def _pause(self) -> float | None:
        """Until the next thing to do; None: until somebody says so."""
        now = time.monotonic()
        ends = [chore.due_at for chore in list(self._chores.values())]
        if self._shortest < float("inf"):
            ends.append(self._extended_at + self._shortest / 3)
        if self._loose:
            ends.append(now + LOOSE_CHECK_SECONDS)
        return max(min(ends) - now, 0.0) if ends else None

    def _work(self) -> None:
        self._collect_loose()
        if time.monotonic() >= self._extended_at + self._shortest / 3:
            self._extend()
        if self._acks or self._failures or self._returns:
            self.settle()
        for chore in list(self._chores.values()):
            if time.monotonic() >= chore.due_at:
                chore.run(self._client)

    def _collect_loose(self) -> None:
        abandoned = []
        try:
            while True:
                abandoned.append(self._abandoned.get_nowait())
        except Empty:
            pass
        self._loose -= len(abandoned)
        with self._lock:
            self._returns += [handle for handle in abandoned if self._held.pop(handle, None) is not None]

    def _extend(self) -> None:
        began = time.monotonic()
        by_seconds: dict[float, list[str]] = {}
        with self._lock:
            for handle, lease in self._held.items():
                if not lease.lost:
                    by_seconds.setdefault(lease.seconds, []).append(handle)
            self._shortest = min(by_seconds, default=self._shortest)  # a shorter one may be held before this ends
        for seconds, handles in by_seconds.items():
            for first in range(0, len(handles), BATCH):
                self._note(self._client.change_visibility_batch(handles[first : first + BATCH], seconds))
        self._extended_at = began

    def _note(self, deadlines: Mapping[str, Any]) -> None:
        lost = []
        with self._lock:
            for handle, deadline in deadlines.items():
                if deadline is None and (lease := self._held.get(handle)) is not None:
                    lease.lost = True
                    lost.append(lease.name)
        for name in lost:
            logger.warning("The lease of %s has ended while it was held: it will be delivered again", name)


_shared: dict[tuple[str, str], Leases] = {}
_shared_lock = threading.Lock()


def shared_leases(dsn: str, connect_options: Mapping[str, Any]) -> Leases:
    """Those of this process for the database."""
    with _shared_lock:
        key = (dsn, repr(sorted(connect_options.items())))
        if key not in _shared:
            _shared[key] = Leases(dsn, connect_options)
        return _shared[key]


def _forget_in_child() -> None:
    """A forked child holds nothing: what its parent holds is its parent's to keep."""
    global _shared_lock
    _shared_lock = threading.Lock()
    _shared.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
