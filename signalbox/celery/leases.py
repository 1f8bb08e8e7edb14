"""The leases of this process: deliveries that are extended, acknowledged and given back.

Leases belong to the process, not to a channel or a connection. When the database restarts, Celery drops its connection
and channels while tasks go on: their messages are still acknowledged by the receipt handles of their deliveries.

One thread does the work that cannot wait for the next receive: it extends each lease after a third of its time, sends
acknowledgements that no receive has sent, and runs chores such as announcing consumers. The thread survives outages
and repeats failed calls.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import psycopg

from signalbox.client import Client
from signalbox.connections.reconnect import Backoff
from signalbox.errors import SignalboxError
from signalbox.logs import in_brief
from signalbox.messages import Message

#: Seconds after which an acknowledgement is sent without a receive.
ACK_WAIT_SECONDS = 0.02
#: The most receipt handles in one call.
BATCH = 1_000
#: Seconds between two checks for deliveries of closed channels that no task refers to.
ABANDONED_CHECK_SECONDS = 0.5

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Lease:
    """An unsettled delivery: the name of its task, and the length of its lease."""

    name: str
    seconds: float
    lost: bool = False


@dataclass(slots=True)
class Chore:
    """Work that the thread repeats: its interval, and the time of its next run."""

    seconds: float
    work: Callable[[Client], object]
    due_at: float = 0.0


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
        self._failures: list[tuple[str, Mapping[str, Any]]] = []  # handles, with the options of their nacks
        self._deferrals: list[str] = []
        self._abandoned: SimpleQueue[str] = SimpleQueue()
        self._abandoned_count = 0
        self._chores: dict[object, Chore] = {}
        self._news = threading.Event()
        self._shortest = float("inf")
        self._extended_at = time.monotonic()
        self._backoff = Backoff(0.1, 2.0)
        self._thread: threading.Thread | None = None
        self._closing = False
        atexit.register(self.close)

    # Calls of channels

    def hold(self, messages: Iterable[Message]) -> None:
        """Hold received messages until they are settled."""
        with self._lock:
            for message in messages:
                name = str((message.attributes or {}).get("task") or f"message {message.id}")
                seconds = max(round(message.lease_seconds, 1), 0.1)
                self._held[message.receipt_handle] = Lease(name, seconds)
                if seconds < self._shortest:
                    self._shortest = seconds
                    self._news.set()
            self._start()

    def holds(self, handle: str) -> bool:
        """Return whether this delivery is neither settled nor lost."""
        lease = self._held.get(handle)
        return lease is not None and not lease.lost

    def name_of(self, handle: str) -> str:
        """The name of the task, or of the message where there is no task."""
        lease = self._held.get(handle)
        return lease.name if lease else "The message"

    def ack(self, handle: str) -> None:
        """Acknowledge a delivery with the next receive, or a moment later."""
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
        """Record a delivery that the consumer refused; the message is retried or becomes a dead letter."""
        with self._lock:
            if self._held.pop(handle, None) is None:
                return
            self._failures.append((handle, options))
            self._start()
        self._news.set()

    def put_off(self, handle: str, client: Client | None = None) -> None:
        """Deliver a requeued message again, without a failure and any number of times.

        With a client the message can be received when this returns, unless the database is lost.
        """
        with self._lock:
            if self._held.pop(handle, None) is None:
                return
        if client is None or not _is_deferred(client, handle):
            with self._lock:
                self._deferrals.append(handle)
                self._start()
            self._news.set()

    def give_back(self, handles: Iterable[str]) -> None:
        """Give back deliveries that were not begun: another consumer may have them, and no failure is recorded."""
        with self._lock:
            self._returns += [handle for handle in handles if self._held.pop(handle, None) is not None]
            self._start()
        self._news.set()

    def abandon(self, messages: Mapping[str, object]) -> None:
        """Give back the deliveries of a closed channel as soon as no task refers to them any more."""
        for handle, message in messages.items():
            if self.holds(handle):
                weakref.finalize(message, self._abandoned.put, handle).atexit = False
                self._abandoned_count += 1
        self._news.set()

    def schedule(self, key: object, chore: Chore) -> None:
        """Let the thread repeat a chore until `forget` removes it."""
        with self._lock:
            self._chores[key] = chore
            self._start()
        self._news.set()

    def forget(self, key: object) -> None:
        """Remove the chore of this key."""
        with self._lock:
            self._chores.pop(key, None)

    # Acknowledgements that a receive sends

    def pop_pending_acks(self) -> list[str]:
        """Take pending acknowledgements for the caller to send; `acked` or `put_back` must follow."""
        with self._lock:
            acks, self._acks = self._acks[:BATCH], self._acks[BATCH:]
            return acks

    def pending_acks(self) -> int:
        """The number of pending acknowledgements."""
        return len(self._acks)

    def put_back(self, handles: list[str]) -> None:
        """Put back acknowledgements whose call failed: they are sent again, even if the call was carried out."""
        with self._lock:
            self._acks = handles + self._acks
            self._doubtful.update(handles)
        self._news.set()

    def acked(self, answers: Mapping[str, bool]) -> None:
        """Handle the answers to acknowledgements. A refusal at the first attempt is logged: its task runs twice."""
        for handle, acked in answers.items():
            if not acked and handle not in self._doubtful:
                logger.warning("A task was done after its lease had ended, and runs again (%s)", handle)
        if self._doubtful:
            self._doubtful.difference_update(answers)

    def settle(self) -> None:
        """Send pending settlements in this thread; raises the errors of the database."""
        if acks := self.pop_pending_acks():
            try:
                self.acked(self._client.ack_batch(acks))
            except Exception:
                self.put_back(acks)
                raise
        while self._failures:
            handle, options = self._failures[0]
            try:
                self._client.nack(handle, **options)
            except SignalboxError as error:
                logger.warning("A failure could not be recorded: %s", in_brief(error))
            del self._failures[0]
        while self._deferrals:
            self._client.defer(self._deferrals[0], 0)
            del self._deferrals[0]
        if returns := self._returns[:BATCH]:
            self._client.change_visibility_batch(returns, 0)
            del self._returns[: len(returns)]

    def close(self) -> None:
        """Stop the thread at the end of the process: settle finished deliveries, and give back the others."""
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
            while self._acks or self._returns or self._failures or self._deferrals:
                self.settle()
        except (psycopg.Error, SignalboxError) as error:
            logger.warning(
                "Some deliveries could not be given back, and are free when their leases end: %s", in_brief(error)
            )
        self._client.close()

    # The thread

    def _start(self) -> None:
        if self._thread is None and not self._closing:
            self._thread = threading.Thread(target=self._run, name="signalbox-leases", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._closing:
            self._news.wait(self._pause())
            self._news.clear()
            if self._acks and not self._closing:
                time.sleep(ACK_WAIT_SECONDS)  # a receive may send them
            try:
                self._work()
                self._backoff.reset()
            except (psycopg.Error, SignalboxError) as error:
                logger.warning("Leases could not be extended, trying again: %s", in_brief(error))
                time.sleep(self._backoff.pause())
                self._news.set()
            except Exception:
                logger.exception("Extending leases failed unexpectedly, trying again")
                time.sleep(self._backoff.pause())

    def _pause(self) -> float | None:
        """The seconds until the next work is due; None: until a channel calls."""
        now = time.monotonic()
        ends = [chore.due_at for chore in list(self._chores.values())]
        if self._shortest < float("inf"):
            ends.append(self._extended_at + self._shortest / 3)
        if self._abandoned_count:
            ends.append(now + ABANDONED_CHECK_SECONDS)
        return max(min(ends) - now, 0.0) if ends else None

    def _work(self) -> None:
        self._collect_abandoned()
        if time.monotonic() >= self._extended_at + self._shortest / 3:
            self._extend()
        if self._acks or self._failures or self._deferrals or self._returns:
            self.settle()
        for chore in list(self._chores.values()):
            if time.monotonic() >= chore.due_at:
                chore.due_at = time.monotonic() + chore.seconds
                chore.work(self._client)

    def _collect_abandoned(self) -> None:
        abandoned = [self._abandoned.get_nowait() for _ in range(self._abandoned.qsize())]  # only this thread gets
        self._abandoned_count -= len(abandoned)
        with self._lock:
            self._returns += [handle for handle in abandoned if self._held.pop(handle, None) is not None]

    def _extend(self) -> None:
        began = time.monotonic()
        by_seconds: dict[float, list[str]] = {}
        with self._lock:
            for handle, lease in self._held.items():
                if not lease.lost:
                    by_seconds.setdefault(lease.seconds, []).append(handle)
            # A shorter lease may be added during the calls below.
            self._shortest = min(by_seconds, default=self._shortest)
        for seconds, handles in by_seconds.items():
            for first in range(0, len(handles), BATCH):
                self._note_lost(self._client.change_visibility_batch(handles[first : first + BATCH], seconds))
        self._extended_at = began

    def _note_lost(self, deadlines: Mapping[str, Any]) -> None:
        lost = []
        with self._lock:
            for handle, deadline in deadlines.items():
                if deadline is None and (lease := self._held.get(handle)) is not None:
                    lease.lost = True
                    lost.append(lease.name)
        for name in lost:
            logger.warning("The lease of %s has ended while it was held: it will be delivered again", name)


def _is_deferred(client: Client, handle: str) -> bool:
    try:
        client.defer(handle, 0)
    except (psycopg.Error, SignalboxError):
        return False
    return True


_shared: dict[tuple[int, str, str], Leases] = {}


def shared_leases(dsn: str, connect_options: Mapping[str, Any]) -> Leases:
    """The leases of this process in the database; a forked child has its own."""
    key = (os.getpid(), dsn, repr(sorted(connect_options.items())))
    return _shared.get(key) or _shared.setdefault(key, Leases(dsn, connect_options))
