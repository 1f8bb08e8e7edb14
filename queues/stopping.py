"""A waiting object for long-running processes that the handler of a signal may end."""

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
        """End the wait, from any thread or the handler of a signal."""
        self._is_set = True
        self._told.put(None)

    def wait(self, seconds: float) -> bool:
        """Wait until it is set, or for this long; return whether it is set."""
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
