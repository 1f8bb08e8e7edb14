"""Limits of API keys on requests per second and at the same time: held by each process for itself, in memory.

Several processes together therefore allow that many times as much. What a key without limits does is not noted at
all, and what a rested key did is forgotten, so memory is bounded by the keys at work.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from console.access.api_keys.key import Key

BURST_SECONDS = 1.0
"""Length of a burst: the requests of this time may arrive at once, and one request is always allowed."""
BUSY_RETRY_SECONDS = 1.0
"""The end of a request under way cannot be foreseen, so the caller tries again after this time."""
MANY_NOTED = 1_000
ROUNDING_SECONDS = 1e-6  # sums of floats are not exact


class LimitExceeded(Exception):  # noqa: N818 - named for what happened
    """A limit of the key is reached: `limit_name` is rate or connections.

    `actual` is the number of requests under way, None for a rate; `retry_after` is in seconds.
    """

    def __init__(self, message: str, limit_name: str, limit: float, actual: float | None, retry_after: float) -> None:
        super().__init__(message)
        self.limit_name = limit_name
        self.limit = limit
        self.actual = actual
        self.retry_after = retry_after


@dataclass(slots=True)
class Use:
    """The use of one key: requests under way, and when it will have rested enough for a whole burst."""

    under_way: int
    rested_at: float


class Limits:
    """The keys at work in one process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._uses: dict[int, Use] = {}

    @asynccontextmanager
    async def admitted(self, key: Key) -> AsyncIterator[None]:
        """Hold a place for one request of the key, to its end. Raises `LimitExceeded`; then nothing is used up."""
        if not key.is_limited:
            yield
            return
        use = self._use_of(key)
        if key.connections is not None and use.under_way >= key.connections:
            detail = f"The key {key.name} may have {key.connections} requests under way at the same time."
            raise LimitExceeded(detail, "connections", float(key.connections), use.under_way, BUSY_RETRY_SECONDS)
        if key.rate is not None:
            self._take_one(key, key.rate, use)
        use.under_way += 1
        try:
            yield
        finally:
            use.under_way -= 1

    def _use_of(self, key: Key) -> Use:
        use = self._uses.get(key.key_id)
        if use is None:
            if len(self._uses) >= MANY_NOTED:
                now = self._clock()
                self._uses = {held: one for held, one in self._uses.items() if one.under_way or one.rested_at > now}
            use = self._uses[key.key_id] = Use(0, self._clock())
        return use

    def _take_one(self, key: Key, rate: float, use: Use) -> None:
        """Each request puts off the moment of rest by its share of a second; a burst is how far that may be away."""
        now = self._clock()
        rested_at = max(use.rested_at, now) + 1 / rate
        wait = rested_at - now - max(BURST_SECONDS, 1 / rate)
        if wait > ROUNDING_SECONDS:
            detail = f"The key {key.name} may make {rate:g} requests per second."
            raise LimitExceeded(detail, "rate", rate, None, wait)
        use.rested_at = rested_at


admitted = Limits().admitted
