"""The last reading of the fleet, shared by every scrape and health check of this process.

A caller never asks the database itself: one thread does, every five seconds for as long as somebody has asked within
the last minutes, with a connection that lives no longer than the reading. Scrapes are given bytes that are there. Only
where nothing recent is, as at the first scrape, one waits: WAIT_SECONDS and no more. Numbers that nobody could renew
for STALE_SECONDS are no longer shown.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.db import connections

from metrics.fleet import Fleet, read_fleet
from metrics.pages import Pages, render, without_numbers
from metrics.turns import turn
from signalbox.unavailable import cause_of

REFRESH_SECONDS = 5.0  # half of the shortest scrape interval in common use
RECENT_SECONDS = 15.0  # numbers older than that are waited for: a scrape interval in common use
STALE_SECONDS = 30.0  # two scrapes of 15 s: a restart of the database is shorter, an outage is not
WAIT_SECONDS = 3.0  # well below Prometheus' default scrape timeout of 10 s
IDLE_SECONDS = 300.0  # nobody has asked for so long: the next who does begins anew

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class State:
    """What is known of the fleet. `age_seconds` is that of the reading, infinite when there never was one."""

    fleet: Fleet | None
    pages: Pages | None
    age_seconds: float
    failing: bool
    """The latest attempt to read failed."""
    cause: str = ""
    """Why, in words that show nothing of the installation; empty where nobody knows."""

    @property
    def fresh(self) -> bool:
        return self.age_seconds <= STALE_SECONDS

    def answers(self) -> Pages:
        """Every page; without fresh numbers only that there are none."""
        return self.pages if self.fresh and self.pages else without_numbers(self.fleet)


def read_in_turn() -> Fleet:
    """The fleet, read while no other replica reads it."""
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
        self._fleet: Fleet | None = None
        self._pages: Pages | None = None
        self._failing = False
        self._cause = ""
        self._background: threading.Thread | None = None
        self._resting = threading.Event()
        self.keeps_fresh = False

    def current(self) -> State:
        """The state of the fleet, renewed first when it is not recent; nobody waits longer than `wait_seconds`."""
        self._asked_at = self._clock()
        if self.keeps_fresh:
            self._start_background()
        done = self._renew_when_due()
        if self._clock() - self._succeeded_at > RECENT_SECONDS:
            done.wait(max(0.0, self._attempted_at + self._wait_seconds - self._clock()))
        with self._lock:
            return State(self._fleet, self._pages, self._clock() - self._succeeded_at, self._failing, self._cause)

    def rest(self) -> None:
        """No more readings in the background until somebody asks; returns when the last one has ended."""
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
                self._fleet, self._pages = fleet, pages
                self._succeeded_at, self._failing, self._cause = self._clock(), False, ""
        except Exception as error:  # whatever it is, the exporter must live to say that it has no numbers
            known = cause_of(error)
            self._cause = known.words if known else ""
            if not self._failing:  # one word for an outage, not one for each attempt
                log.warning("the queues' numbers cannot be read, trying again when asked", exc_info=True)
            self._failing = True
        finally:
            connections.close_all()
            done.set()


snapshot = Snapshot()
"""This process's own."""
