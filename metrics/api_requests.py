"""How long the API's requests take in this process, by route: counted by whoever answers them, exported with the rest.

A route is the address as it is declared, with its parameters unfilled, so there are as many series as there are routes.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterator

from metrics import names
from metrics.text import histogram, labels, upper_bounds
from queues.durations import Spread

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0)
"""Upper bounds in seconds; the longest wait for messages is 20."""

MOST_ROUTES = 1_000
"""Far more than there are: nothing that a stranger sends makes the page grow."""

Key = tuple[str, str]


class ApiRequests:
    """Histograms by route and status class. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[Key, list[int]] = {}
        self._seconds: dict[Key, float] = {}

    def observe(self, route: str, status: str, seconds: float) -> None:
        """One request; `status` is 2xx, 4xx, 5xx, or gone when nobody waited for the answer."""
        key = (route, status)
        with self._lock:
            counts = self._counts.get(key)
            if counts is None:
                if len(self._counts) >= MOST_ROUTES:
                    return
                counts = self._counts[key] = [0] * (len(BOUNDS) + 1)
                self._seconds[key] = 0.0
            counts[bisect_left(BOUNDS, seconds)] += 1
            self._seconds[key] += seconds

    def lines(self) -> Iterator[str]:
        """As Prometheus reads them."""
        with self._lock:
            read = [(key, tuple(counts), self._seconds[key]) for key, counts in sorted(self._counts.items())]
        for key, counts, seconds in read:
            inside = labels(names.API_REQUEST_DURATION.labels, key)
            yield histogram(names.API_REQUEST_DURATION, inside, Spread(counts, seconds), _UPPER_BOUNDS)


_UPPER_BOUNDS = upper_bounds(BOUNDS)

API_REQUESTS = ApiRequests()
