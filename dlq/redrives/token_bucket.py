"""Token bucket: limits messages to a rate per second, with bursts of at most a tenth of a second's worth.

Two token buckets. One fills at the rate and remembers what was missed while no process ran the job, for a worker hands
it to the next every twenty seconds; the other fills a tenth faster and remembers next to nothing, so that catching
up is never a rush. A message takes a token of each.

Neither keeps anything here. The tokens and the moment they were counted live in the job's row, and that moment is the
database's, so a job keeps its rate across workers, slices and machines whose clocks differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

BURST_SECONDS = 0.1
# At a high rate messages move in groups, twenty times a second: a transaction each would be too many.
GROUP_SECONDS = 0.05
# A runner always wakes a little late. Tokens of that time are kept, or every rate would be missed by that much.
LATE_SECONDS = 0.05
# What is missed for longer than a hand-over takes is not caught up with.
MISSED_SECONDS = 2.0
CATCH_UP = 1.1


@dataclass(frozen=True)
class TokenBucket:
    """`tokens` of the rate and `burst_tokens` of what may go at once, as of `refilled_at`."""

    rate: int
    tokens: float
    burst_tokens: float
    refilled_at: datetime

    @property
    def burst(self) -> int:
        """The most messages that go at once."""
        return int(max(1.0, self.rate * BURST_SECONDS))

    @property
    def allowed(self) -> int:
        """Return how many messages may go now."""
        return min(int(self.tokens), int(self.burst_tokens), self.burst)

    @property
    def seconds_to_next(self) -> float:
        """Return how long after `refilled_at` the next group of messages may go."""
        group = max(1.0, self.rate * GROUP_SECONDS)
        due_seconds = (group - self.tokens) / self.rate
        ready_seconds = (group - self.burst_tokens) / (self.rate * CATCH_UP)
        return max(0.0, due_seconds, ready_seconds)

    def refilled(self, now: datetime) -> TokenBucket:
        """Return the same at `now`; a clock that was set back costs nothing and gives nothing."""
        filled = max(0.0, (now - self.refilled_at).total_seconds()) * self.rate
        one_burst = max(1.0, self.rate * BURST_SECONDS)
        return TokenBucket(
            self.rate,
            min(one_burst + self.rate * MISSED_SECONDS, self.tokens + filled),
            min(one_burst + self.rate * LATE_SECONDS, self.burst_tokens + filled * CATCH_UP),
            now,
        )

    def without(self, messages: int) -> TokenBucket:
        """Return the bucket without the tokens of these messages."""
        return replace(self, tokens=self.tokens - messages, burst_tokens=self.burst_tokens - messages)
