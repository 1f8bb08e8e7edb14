"""Times of requests to the API in this process, by route.

A route is the address as it is declared, with its parameters unfilled, so there are as many series as there are routes.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left

from queues.counters.durations import Exemplar, Spread

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0)
"""Upper bounds in seconds; the longest wait for messages is 20."""

MAX_ROUTES = 1_000
"""Limit of series, far above the number of routes, so that requests cannot make the page grow without end."""

Key = tuple[str, str]


class ApiRequests:
    """Histograms by route and status class. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[Key, list[int]] = {}
        self._seconds: dict[Key, float] = {}
        self._exemplars: dict[Key, list[Exemplar | None]] = {}

    def observe(self, route: str, status: str, seconds: float, trace_id: str | None = None) -> None:
        """Count one request; `status` is 2xx, 4xx, 5xx, or gone when its sender did not wait for the answer."""
        key, bucket = (route, status), bisect_left(BOUNDS, seconds)
        with self._lock:
            counts = self._counts.get(key)
            if counts is None:
                if len(self._counts) >= MAX_ROUTES:
                    return
                counts = self._counts[key] = [0] * (len(BOUNDS) + 1)
                self._seconds[key] = 0.0
                self._exemplars[key] = [None] * len(counts)
            counts[bucket] += 1
            self._seconds[key] += seconds
            if trace_id:
                self._exemplars[key][bucket] = Exemplar(trace_id, seconds, time.time())

    def read(self) -> dict[Key, float | Spread | None]:
        """Read the histogram of each (route, status)."""
        with self._lock:
            read = sorted(self._counts.items())
            return {key: Spread(tuple(counts), self._seconds[key], tuple(self._exemplars[key])) for key, counts in read}


API_REQUESTS = ApiRequests()


class SqsErrors:
    """Refusals of the SQS endpoint by operation and code. Thread-safe; both are names of tables, so there are few."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[Key, int] = {}

    def count(self, operation: str, code: str) -> None:
        """Count one refused request or one refused entry of a batch."""
        with self._lock:
            self._counts[operation, code] = self._counts.get((operation, code), 0) + 1

    def read(self) -> dict[Key, float | Spread | None]:
        """Read the number of refusals of each (operation, code)."""
        with self._lock:
            return dict(sorted(self._counts.items()))


SQS_ERRORS = SqsErrors()
