"""Waiting for the end of a message: asking again and again, more and more seldom, with jitter.

Nothing is notified when a message is settled, since that would serialise the commits of all who settle.
"""

from __future__ import annotations

import math
import time

from signalbox import arguments
from signalbox.errors import MessageNotFound, NotSettled
from signalbox.messages import Outcome
from signalbox.pauses import Backoff

#: The first pause and the longest one between two looks, in seconds.
FIRST_PAUSE_SECONDS = 0.01
LONGEST_PAUSE_SECONDS = 1.0


class SettledWait:
    """What the waits of both clients have in common: how long to pause, and when to give up."""

    def __init__(self, message_id: int, timeout: float | None) -> None:
        self._message_id = message_id
        self._timeout = arguments.optional_seconds("timeout", timeout)
        self._ends_at = math.inf if self._timeout is None else time.monotonic() + self._timeout
        self._backoff = Backoff(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)

    def pause(self, outcome: Outcome | None) -> float:
        """Seconds until the next look. Raises MessageNotFound, or NotSettled when the time is over."""
        if outcome is None:
            raise MessageNotFound(
                f"Nothing is known of message {self._message_id}: it never was, or its retention is over."
            )
        left = self._ends_at - time.monotonic()
        if left <= 0:
            raise NotSettled(
                f"Message {self._message_id} was not settled within {self._timeout:g} seconds: it is {outcome.status}.",
                outcome,
            )
        return min(self._backoff.pause(), left)
