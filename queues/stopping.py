"""What a long-running process waits with, and a signal's handler ends."""

from __future__ import annotations

import queue
import signal
from collections.abc import Callable


class Stopping:
    """An event that a signal's handler may set.

    `threading.Event` is not one: a handler runs in the main thread, between two steps of whatever that thread is at; if
    it is at the event's own wait and has its lock, `set` waits for that lock for ever. `SimpleQueue.put` alone may
    interrupt itself: https://docs.python.org/3/library/queue.html#simplequeue-objects.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._told: queue.SimpleQueue[None] = queue.SimpleQueue()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        """From any thread, or a signal's handler."""
        self._is_set = True
        self._told.put(None)

    def wait(self, seconds: float) -> bool:
        """Until it is set, or for so long; whether it is set."""
        try:
            self._told.get(timeout=seconds)
        except queue.Empty:
            return self._is_set
        self._told.put(None)  # for others who wait
        return True


def on_signals(stop: Callable[[], object], *numbers: signal.Signals) -> None:
    """Have each of these signals call `stop`, which may wait for no lock."""
    for number in numbers:
        signal.signal(number, lambda *_: stop())
