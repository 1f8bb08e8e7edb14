"""How long messages wait and how long work on them takes, by buckets: for histograms and service levels.

Claims and acknowledgements note milliseconds beside what they write anyway, and the fold counts them (`queues/sql/
fold.sql`, `queue_durations.sql`). Everything here is cumulative: what happened within a stretch of time is the
difference of two readings. History keeps a reading beside its own numbers: in SQL
`left join signalbox.queue_durations() d using (queue_id)`, in Python `Durations.of(array)` and `later - earlier`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from django.db import connection

from queues.settings import DURATION_BOUNDS

BOUNDS = DURATION_BOUNDS
"""Upper bounds in seconds, each part of its bucket; one bucket more is for what took longer."""
BUCKETS = len(BOUNDS) + 1


@dataclass(frozen=True)
class Spread:
    """How long something took, how often: counts by bucket, each for itself, and the seconds of all together."""

    counts: tuple[int, ...] = (0,) * BUCKETS
    seconds: float = 0.0

    @property
    def total(self) -> int:
        return sum(self.counts)

    def cumulative(self) -> list[int]:
        """How many took up to each bound, and at last how many there are: as Prometheus has it."""
        return list(accumulate(self.counts))

    def __add__(self, other: Spread) -> Spread:
        counts = tuple(map(sum, zip(self.counts, other.counts, strict=True)))
        return Spread(counts, self.seconds + other.seconds)

    def __sub__(self, earlier: Spread) -> Spread:
        counts = tuple(now - then for now, then in zip(self.counts, earlier.counts, strict=True))
        return Spread(counts, self.seconds - earlier.seconds)


@dataclass(frozen=True)
class Durations:
    """One queue since it began: waits of first deliveries, work up to acknowledgements, and how the target was met."""

    waits: Spread = Spread()
    work: Spread = Spread()
    met: int = 0
    """First deliveries within the wait target that the queue had when they were counted."""

    @property
    def missed(self) -> int:
        return self.waits.total - self.met

    @classmethod
    def of(cls, numbers: Sequence[int] | None) -> Durations:
        """From the array of `signalbox.queue_durations`; null is a queue that delivered nothing yet."""
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
    """Of these queues, of all when None, by queue id, as of the last fold. One query, however many queues."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select queue_id, durations from signalbox.queue_durations(%s::integer[])",
            [list(queue_ids) if queue_ids is not None else None],
        )
        return {queue_id: Durations.of(numbers) for queue_id, numbers in cursor.fetchall()}
