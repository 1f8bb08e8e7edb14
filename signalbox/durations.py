"""Durations of this process's calls to the database, kept only where prometheus-client is installed.

The client itself does not import prometheus-client. `collector()` adds both histograms to a registry:
`prometheus_client.REGISTRY.register(signalbox.durations.collector())`.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper bounds of the buckets, in seconds. One further bucket counts longer calls."""

KEPT = find_spec("prometheus_client") is not None


class Durations:
    """A thread-safe histogram of seconds, of constant size."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._lock = threading.Lock()
        self._counts = [0] * (len(BOUNDS) + 1)
        self._seconds = 0.0

    def observe(self, seconds: float) -> None:
        if not KEPT:
            return
        bucket = bisect_left(BOUNDS, seconds)
        with self._lock:
            self._counts[bucket] += 1
            self._seconds += seconds

    def read(self) -> tuple[tuple[int, ...], float]:
        """Read the count of each bucket, and the sum of all seconds."""
        with self._lock:
            return tuple(self._counts), self._seconds


PUBLISH = Durations("signalbox_publish_duration_seconds", "Duration of each send to the database, in this process.")
RECEIVE = Durations(
    "signalbox_receive_duration_seconds",
    "Duration of each request for messages, in this process, without the pauses of a long poll.",
)


def collector() -> Collector:
    """Make a collector of prometheus-client for both histograms. Raises ImportError where it is not installed."""
    from prometheus_client.metrics_core import HistogramMetricFamily
    from prometheus_client.registry import Collector

    class _Durations(Collector):
        def collect(self) -> Iterable[Metric]:
            for durations in (PUBLISH, RECEIVE):
                counts, seconds = durations.read()
                bounds = (*(f"{bound:g}" for bound in BOUNDS), "+Inf")
                family = HistogramMetricFamily(durations.name, durations.text)
                family.add_metric((), list(zip(bounds, accumulate(counts), strict=True)), seconds)
                yield family

    return _Durations()


@contextmanager
def exported(port: int | None) -> Iterator[None]:
    """Serve both histograms at `/metrics` on this port while the block runs; None serves nothing."""
    if port is None:
        yield
        return
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry()
    registry.register(collector())
    server, thread = start_http_server(port, registry=registry)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
