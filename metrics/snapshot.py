"""The last reading of the fleet, shared by every scrape and health check of this process.

A caller never asks the database itself: one thread does, at most every five seconds and only when somebody asks, with
a connection that lives no longer than the reading. A database that hangs thus delays a scrape by WAIT_SECONDS and no
more, and numbers nobody could renew for STALE_SECONDS are no longer shown.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.db import connections

from metrics.collector import render
from metrics.fleet import Fleet, read_fleet

REFRESH_SECONDS = 5.0  # half of the shortest scrape interval in common use
STALE_SECONDS = 30.0  # two scrapes of 15 s: a restart of the database is shorter, an outage is not
WAIT_SECONDS = 3.0  # well below Prometheus' default scrape timeout of 10 s

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class State:
    """What is known of the fleet. `age_seconds` is that of the reading, infinite when there never was one."""

    fleet: Fleet | None
    exposition: bytes
    age_seconds: float
    failing: bool
    """The latest attempt to read failed."""

    @property
    def fresh(self) -> bool:
        return self.age_seconds <= STALE_SECONDS


class Snapshot:
    """A cached reading. Thread-safe; `clock` is monotonic seconds."""

    def __init__(
        self,
        read: Callable[[], Fleet] = read_fleet,
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
        self._fleet: Fleet | None = None
        self._exposition = b""
        self._failing = False

    def current(self) -> State:
        """The state of the fleet, renewed first when due; nobody waits longer for that than `wait_seconds`."""
        self._renew_when_due().wait(max(0.0, self._attempted_at + self._wait_seconds - self._clock()))
        with self._lock:
            return State(self._fleet, self._exposition, self._clock() - self._succeeded_at, self._failing)

    def exposition(self) -> bytes:
        """The metrics in Prometheus' text format; without fresh numbers only that there are none."""
        state = self.current()
        return state.exposition if state.fresh else render(state.fleet, up=False)

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
            exposition = render(fleet, up=True)
            with self._lock:
                self._fleet, self._exposition = fleet, exposition
                self._succeeded_at, self._failing = self._clock(), False
        except Exception:  # whatever it is, the exporter must live to say that it has no numbers
            if not self._failing:  # one word for an outage, not one for each attempt
                log.warning("the queues' numbers cannot be read, trying again when asked", exc_info=True)
            self._failing = True
        finally:
            connections.close_all()
            done.set()


snapshot = Snapshot()
"""This process's own."""
