"""Waking whoever drains a connection: news of queues, acknowledgements that make room, mail."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

from signalbox.listening import Listener
from signalbox.pauses import jittered


class Bell:
    """Rung by any thread; waited for by the one that drains, or passed on to an event loop."""

    def __init__(self) -> None:
        self._rung = threading.Event()
        self.clear = self._rung.clear
        self.also: Callable[[], None] | None = None

    def ring(self) -> None:
        """There is something to look for."""
        self._rung.set()
        if also := self.also:
            also()

    def wait(self, timeout: float) -> bool:
        """Until it rings, at most `timeout` seconds. Did it?"""
        return self._rung.wait(timeout)


class Watch:
    """When to look into a queue or a mailbox again: at news of it, and now and then in any case."""

    def __init__(self, bell: Bell, listener: Listener | None, name: str, every: float) -> None:
        self._bell = bell
        self._every = every
        self._news = True
        self.due_at = 0.0
        self._ends = ExitStack()
        if listener is not None:
            self._ends.enter_context(listener.on_ready(name, self._hear))

    def _hear(self) -> None:
        self._news = True
        self.due_at = 0.0
        self._bell.ring()

    def is_due(self, now: float) -> bool:
        """Is there news, or has nobody looked for long enough?"""
        return self._news or now >= self.due_at

    def look(self) -> None:
        """Somebody looks: what is announced from now on is news."""
        self._news = False

    def found_nothing_more(self) -> None:
        """It is empty: look again when there is news, or after a while."""
        self.due_at = 0.0 if self._news else time.monotonic() + jittered(self._every)

    def found_more(self) -> None:
        """There may be more of it: look again at once."""
        self._news = True

    def close(self) -> None:
        """Nobody looks any more."""
        self._ends.close()
