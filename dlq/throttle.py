"""A token bucket: one token a message, `rate` tokens a second, at most a tenth of a second's worth at once.

It has no memory of its own. The tokens and the moment they were counted live in the job's row, and that moment
is the database's, so a job keeps its pace across workers, slices and machines whose clocks differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

BURST_SECONDS = 0.1
# At a high rate messages move in groups, twenty times a second: a transaction each would be too many.
GROUP_SECONDS = 0.05
# A runner always wakes a little late. What came in meanwhile is kept, or every rate would be missed by that much.
LATE_SECONDS = 0.05


@dataclass(frozen=True)
class Bucket:
    """`tokens` as of `refilled_at`, filling by `rate` per second."""

    rate: int
    tokens: float
    refilled_at: datetime

    @property
    def burst(self) -> int:
        """The most messages that go at once."""
        return int(max(1.0, self.rate * BURST_SECONDS))

    @property
    def allowed(self) -> int:
        """How many messages may go now."""
        return min(int(self.tokens), self.burst)

    @property
    def seconds_to_next(self) -> float:
        """How long after `refilled_at` the next group of messages may go."""
        group = max(1.0, self.rate * GROUP_SECONDS)
        return max(0.0, (group - self.tokens) / self.rate)

    def refilled(self, now: datetime) -> Bucket:
        """The bucket at `now`; a clock that was set back costs nothing and gives nothing."""
        elapsed_seconds = max(0.0, (now - self.refilled_at).total_seconds())
        most = max(1.0, self.rate * BURST_SECONDS) + self.rate * LATE_SECONDS
        return Bucket(self.rate, min(most, self.tokens + elapsed_seconds * self.rate), now)

    def without(self, messages: int) -> Bucket:
        """The bucket after so many messages went."""
        return Bucket(self.rate, self.tokens - messages, self.refilled_at)
