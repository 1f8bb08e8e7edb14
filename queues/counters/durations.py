"""Durations of waits and of work, by buckets: for histograms and service levels.

Claims and acknowledgements note milliseconds beside what they write anyway, and the aggregation of counters counts them
(`queues/sql/counters/aggregate_counters.sql`, `queue_durations.sql`). Everything here is cumulative: the events of a
stretch of time are the difference of two readings. History keeps a reading beside its own numbers: in SQL
`left join signalbox.queue_durations() d using (queue_id)`, in Python `Durations.of(array)` and `later - earlier`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from queues.codes import BUCKETS
from queues.database.query import fetch
from queues.settings import DURATION_BOUNDS

BOUNDS = DURATION_BOUNDS
"""Upper bounds of the buckets in seconds, each part of its bucket; one more bucket has no bound."""


@dataclass(frozen=True)
class Exemplar:
    """One observation with its trace, in which a person can look up why it took so long. `at` is Unix time."""

    trace_id: str
    seconds: float
    at: float


@dataclass(frozen=True)
class Spread:
    """The distribution of a duration: counts by bucket, not cumulative, and the seconds of all together."""

    counts: tuple[int, ...] = (0,) * BUCKETS
    seconds: float = 0.0
    exemplars: tuple[Exemplar | None, ...] = ()
    """The last traced observation of each bucket, where observations have traces."""

    @property
    def total(self) -> int:
        return sum(self.counts)

    def cumulative(self) -> list[int]:
        """Count the durations up to each bound and, last, all of them, as Prometheus does."""
        return list(accumulate(self.counts))

    def __add__(self, other: Spread) -> Spread:
        counts = tuple(map(sum, zip(self.counts, other.counts, strict=True)))
        return Spread(counts, self.seconds + other.seconds)

    def __sub__(self, earlier: Spread) -> Spread:
        counts = tuple(now - then for now, then in zip(self.counts, earlier.counts, strict=True))
        return Spread(counts, self.seconds - earlier.seconds)


@dataclass(frozen=True)
class Durations:
    """Durations of one queue since it was made: waits of first deliveries, work times, and waits within the target."""

    waits: Spread = Spread()
    work: Spread = Spread()
    met: int = 0
    """First deliveries within the wait target that the queue had when they were counted."""

    @property
    def missed(self) -> int:
        return self.waits.total - self.met

    @classmethod
    def of(cls, numbers: Sequence[int] | None) -> Durations:
        """Read the array of `signalbox.queue_durations`; null is a queue that delivered nothing yet."""
        if not numbers:
            return cls()
        waits, work = tuple(numbers[:BUCKETS]), tuple(numbers[BUCKETS : 2 * BUCKETS])
        waited_ms, worked_ms, met = numbers[2 * BUCKETS :]
        return cls(Spread(waits, waited_ms / 1000), Spread(work, worked_ms / 1000), met)

    def __add__(self, other: Durations) -> Durations:
        return Durations(self.waits + other.waits, self.work + other.work, self.met + other.met)

    def __sub__(self, earlier: Durations) -> Durations:
        return Durations(self.waits - earlier.waits, self.work - earlier.work, self.met - earlier.met)


def read_durations(queue_ids: Sequence[int] | None = None) -> dict[int, Durations]:
    """Read the durations of these queues, of all when None, as of the last aggregation. One query."""
    rows = fetch(
        "select queue_id, durations from signalbox.queue_durations(%s::integer[])",
        [list(queue_ids) if queue_ids is not None else None],
    )
    return {queue_id: Durations.of(numbers) for queue_id, numbers in rows}


def percentile(counts: Sequence[int], share: float) -> float | None:
    """Estimate the duration, in seconds, that a `share` (0 to 1) of the observations did not exceed; None without any.

    The estimate assumes that observations are spread evenly over their bucket, which begins at the bound before it or
    at 0, so the error is at most the width of one bucket. An observation above the last bound counts as equal to that
    bound.
    """
    total = sum(counts)
    if not total:
        return None
    rank, below = share * total, 0
    for bucket, count in enumerate(counts):
        if count and below + count >= rank:
            if bucket >= len(BOUNDS):
                break
            lower = BOUNDS[bucket - 1] if bucket else 0.0
            return min(lower + (BOUNDS[bucket] - lower) * (rank - below) / count, BOUNDS[bucket])
        below += count
    return float(BOUNDS[-1])
