"""An event that ends long-running processes, and that the handler of a signal may set."""

from __future__ import annotations

import queue
import signal
from collections.abc import Callable


class Stopping:
    """An event that the handler of a signal may set.

    `threading.Event` is not safe there: a handler runs in the main thread between any two steps. When that thread is in
    the event's own `wait` and has its lock, `set` waits for the lock for ever. `SimpleQueue.put` is reentrant: https://docs.python.org/3/library/queue.html#simplequeue-objects.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        """End the wait, from any thread or the handler of a signal."""
        self._is_set = True
        self._ended.put(None)

    def wait(self, seconds: float) -> bool:
        """Wait until it is set, or for this long; return whether it is set."""
        try:
            self._ended.get(timeout=seconds)
        except queue.Empty:
            return self._is_set
        self._ended.put(None)  # for other waiting threads
        return True


def on_signals(stop: Callable[[], object], *numbers: signal.Signals) -> None:
    """Have each of these signals call `stop`, which may wait for no lock."""
    for number in numbers:
        signal.signal(number, lambda *_: stop())
