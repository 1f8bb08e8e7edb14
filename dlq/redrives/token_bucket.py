"""Token bucket: limits messages to a rate per second, with bursts of at most a tenth of a second's worth.

There are two buckets, and a message takes a token of each. One fills at the rate and keeps tokens for the time in
which no process ran the job, because the job changes its worker every twenty seconds. The other fills a tenth faster
and keeps almost no tokens, so that catching up never becomes a burst.

The row of the job has the tokens and the time at which they were counted, by the clock of the database. So a job keeps
its rate across workers, slices and machines whose clocks differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

BURST_SECONDS = 0.1
# At a high rate messages move in groups, twenty times a second, to limit the number of transactions.
GROUP_SECONDS = 0.05
# A runner always wakes a little late. It keeps the tokens of that time, otherwise every rate would be too low.
LATE_SECONDS = 0.05
# Tokens of a longer pause than a change of workers are lost.
MISSED_SECONDS = 2.0
CATCH_UP = 1.1


@dataclass(frozen=True)
class TokenBucket:
    """The tokens of the rate and the tokens of the burst, as of `refilled_at`."""

    rate: int
    tokens: float
    burst_tokens: float
    refilled_at: datetime

    @property
    def burst(self) -> int:
        """The largest number of messages in one burst."""
        return int(max(1.0, self.rate * BURST_SECONDS))

    @property
    def allowed(self) -> int:
        """Return the number of messages that may be sent now."""
        return min(int(self.tokens), int(self.burst_tokens), self.burst)

    @property
    def seconds_to_next(self) -> float:
        """Return the seconds from `refilled_at` to the next group of messages."""
        group = max(1.0, self.rate * GROUP_SECONDS)
        due_seconds = (group - self.tokens) / self.rate
        ready_seconds = (group - self.burst_tokens) / (self.rate * CATCH_UP)
        return max(0.0, due_seconds, ready_seconds)

    def refilled(self, now: datetime) -> TokenBucket:
        """Return the bucket at `now`; a clock that was set back changes no tokens."""
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
