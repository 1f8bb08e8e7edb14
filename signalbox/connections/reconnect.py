"""The pauses between attempts, with jitter, so that many processes do not keep step."""

from __future__ import annotations

import random


def jittered(seconds: float) -> float:
    """A random time from half of `seconds` to `seconds`."""
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - jitter is no secret


class Backoff:
    """The pauses of repeated attempts, which double from `first` to `longest` seconds until `reset`."""

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self._next = first

    def pause(self) -> float:
        """Seconds to wait now; the next pause is twice as long."""
        pause, self._next = self._next, min(self._next * 2, self._longest)
        return jittered(pause)

    def reset(self) -> None:
        """Begin again with the first pause, after a success."""
        self._next = self._first
