"""The last reading of the fleet, shared by every scrape and health check of this process.

No caller asks the database itself: one thread reads every five seconds for as long as callers asked within the last
minutes, with a connection that lives no longer than the reading. Scrapes get bytes that are ready. Only where there is
no recent reading, as at the first scrape, a caller waits, for at most WAIT_SECONDS. Numbers that could not be renewed
for STALE_SECONDS are not shown.

One replica of the console at a time reads (docs/decisions/0017-the-exporter.md). The lock is an advisory lock of a
transaction: a process that dies gives it up, and one that hangs is cut off by the server. It is tried repeatedly and
never waited for: a session that waits would hold a snapshot.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from django.db import connection, connections, transaction

from metrics.exposition.pages import Answer, Pages, render, render_only, render_process, without_numbers
from metrics.reading.fleet import Fleet, read_fleet
from signalbox.connections.unavailable import cause_of

REFRESH_SECONDS = 5.0  # half of the shortest scrape interval in common use
RECENT_SECONDS = 15.0  # a caller waits for newer numbers than these; a scrape interval in common use
STALE_SECONDS = 30.0  # two scrapes of 15 s; longer than a restart of the database
WAIT_SECONDS = 3.0  # well below Prometheus' default scrape timeout of 10 s
IDLE_SECONDS = 300.0  # the thread ends after this time without a caller, and the next caller starts it again
TURN_SECONDS = 5.0  # after this wait two replicas read at once: fresh numbers matter more than cost
POLL_SECONDS = 0.05

_CUT_OFF = "set local idle_in_transaction_session_timeout = '30s'"
_TRY = "select pg_try_advisory_xact_lock(hashtext(%s), 0)"
LOCK = "signalbox.exporter"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class State:
    """The state of the fleet. `age_seconds` is that of the reading, infinite when there never was one."""

    fleet: Fleet | None
    pages: Pages | None
    age_seconds: float
    failing: bool
    """True when the latest attempt to read failed."""
    cause: str = ""
    """The reason of the failure, without details of the installation; empty when it is unknown."""

    @property
    def fresh(self) -> bool:
        return self.age_seconds <= STALE_SECONDS

    def answers(self) -> Pages:
        """Return every page; without fresh numbers the pages report only that."""
        return self.pages if self.fresh and self.pages else without_numbers(self.fleet)


@contextmanager
def turn(clock: Callable[[], float] = time.monotonic, pause: Callable[[float], None] = time.sleep) -> Iterator[bool]:
    """Hold the lock of the reading replica within the block; False when another held it for TURN_SECONDS."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_CUT_OFF)
            give_up_at = clock() + TURN_SECONDS
            while True:
                cursor.execute(_TRY, [LOCK])
                if (taken := bool(cursor.fetchone()[0])) or clock() >= give_up_at:
                    break
                pause(POLL_SECONDS)
        yield taken


def read_in_turn() -> Fleet:
    """Read the fleet while no other replica reads it."""
    with turn():
        return read_fleet()


class Snapshot:
    """A cached reading. Thread-safe; `clock` is monotonic seconds."""

    def __init__(
        self,
        read: Callable[[], Fleet] = read_in_turn,
        clock: Callable[[], float] = time.monotonic,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self._read = read
        self._clock = clock
        self._wait_seconds = wait_seconds
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._done.set()
        self._attempted_at = float("-inf")
        self._succeeded_at = float("-inf")
        self._asked_at = float("-inf")
        self._last = State(None, None, float("inf"), failing=False)
        self._background: threading.Thread | None = None
        self._resting = threading.Event()
        self.keeps_fresh = False

    def current(self) -> State:
        """Return the state of the fleet, renewed first when it is not recent, within `wait_seconds`."""
        self._asked_at = self._clock()
        if self.keeps_fresh:
            self._start_background()
        done = self._renew_when_due()
        if self._clock() - self._succeeded_at > RECENT_SECONDS:
            done.wait(max(0.0, self._attempted_at + self._wait_seconds - self._clock()))
        with self._lock:
            return replace(self._last, age_seconds=self._clock() - self._succeeded_at)

    def rest(self) -> None:
        """Stop reading in the background until the next call; returns when the last reading has ended."""
        self._resting.set()
        if (background := self._background) is not None:
            background.join()
        self._done.wait()

    def _start_background(self) -> None:
        with self._lock:
            if self._background is None or not self._background.is_alive():
                self._resting.clear()
                self._background = threading.Thread(target=self._keep_fresh, name="metrics clock", daemon=True)
                self._background.start()

    def _keep_fresh(self) -> None:
        while self._clock() - self._asked_at < IDLE_SECONDS and not self._resting.wait(REFRESH_SECONDS):
            self._renew_when_due()

    def _renew_when_due(self) -> threading.Event:
        """Start a reading unless one is under way or recent; the event says that none is under way."""
        with self._lock:
            if self._done.is_set() and self._clock() - self._attempted_at >= REFRESH_SECONDS:
                self._attempted_at = self._clock()
                self._done = threading.Event()
                # A daemon: a reading that hangs must not keep the process from ending.
                threading.Thread(target=self._renew, args=[self._done], name="metrics", daemon=True).start()
            return self._done

    def _renew(self, done: threading.Event) -> None:
        try:
            fleet = self._read()
            pages = render(fleet)
            with self._lock:
                self._last, self._succeeded_at = State(fleet, pages, 0.0, failing=False), self._clock()
        except Exception as error:  # the exporter must survive any error, to report that it has no numbers
            if not self._last.failing:  # one log line for an outage, not one for each attempt
                log.warning("cannot read the numbers of queues, trying again at the next request", exc_info=True)
            known = cause_of(error)
            self._last = replace(self._last, failing=True, cause=known.words if known else "")
        finally:
            connections.close_all()
            done.set()


snapshot = Snapshot()
"""The snapshot of this process."""


def fleet_page(*, openmetrics: bool = False) -> Answer:
    """Answer with the page of the installation: totals, PostgreSQL, the exporter, measurements of this process."""
    page = Answer(snapshot.current().answers().fleet.plain + render_process(exemplars=openmetrics))
    return page.openmetrics if openmetrics else page


def settings_page() -> Answer:
    """Answer with the settings of all queues."""
    return snapshot.current().answers().settings


def queue_page(tenants: Sequence[str] = (), queues: Sequence[str] = ()) -> Answer:
    """Answer with the series of all queues, or of those named; raises `UnknownNameError`."""
    state = snapshot.current()
    if not (tenants or queues) or state.fleet is None or not state.fresh:
        return state.answers().queues
    return render_only(state.fleet, tenants, queues)
