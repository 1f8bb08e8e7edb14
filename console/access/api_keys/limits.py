"""Limits of API keys on requests per second and on concurrent requests, counted by each process in memory.

Several processes together therefore allow a multiple. Keys without limits are not counted, and an idle key is
forgotten, so memory is bounded by the keys in use.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from console.access.api_keys.key import Key

BURST_SECONDS = 1.0
"""Length of a burst: as many requests as the rate allows in this time may arrive at once, but at least one."""
BUSY_RETRY_SECONDS = 1.0
"""The end of a request under way cannot be foreseen, so the caller tries again after this time."""
MANY_NOTED = 1_000
ROUNDING_SECONDS = 1e-6  # tolerance for sums of floats


class LimitExceeded(Exception):  # noqa: N818 - named for what happened
    """A limit of the key is reached: `limit_name` is rate or connections.

    `actual` is the number of concurrent requests, None for a rate; `retry_after` is in seconds.
    """

    def __init__(self, message: str, limit_name: str, limit: float, actual: float | None, retry_after: float) -> None:
        super().__init__(message)
        self.limit_name = limit_name
        self.limit = limit
        self.actual = actual
        self.retry_after = retry_after


@dataclass(slots=True)
class Use:
    """The use of one key: its concurrent requests, and the time from which a whole burst is allowed again."""

    under_way: int
    rested_at: float


class Limits:
    """The use of all keys with limits in one process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._uses: dict[int, Use] = {}

    @asynccontextmanager
    async def admitted(self, key: Key) -> AsyncIterator[None]:
        """Count one request of the key until it ends. Raises `LimitExceeded`, which counts nothing."""
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
        """Use up one request. Each request delays the time of rest, and the burst bounds that delay."""
        now = self._clock()
        rested_at = max(use.rested_at, now) + 1 / rate
        wait = rested_at - now - max(BURST_SECONDS, 1 / rate)
        if wait > ROUNDING_SECONDS:
            detail = f"The key {key.name} may make {rate:g} requests per second."
            raise LimitExceeded(detail, "rate", rate, None, wait)
        use.rested_at = rested_at


admitted = Limits().admitted
