"""How long to wait before trying again: with jitter, so that many processes do not keep step."""

from __future__ import annotations

import random


def jittered(seconds: float) -> float:
    """A time between half of `seconds` and all of it."""
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - jitter is no secret


class Backoff:
    """Pauses that double from `first` to `longest` seconds until `reset`."""

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self._next = first

    def pause(self) -> float:
        """Seconds to wait now; the next pause is twice as long."""
        pause, self._next = self._next, min(self._next * 2, self._longest)
        return jittered(pause)

    def reset(self) -> None:
        """It worked: begin again with the first pause."""
        self._next = self._first
