"""Shared lookups: requests that need the same value at the same time share one query."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


class SingleFlight(Generic[Key, Answer]):
    """Lookups by key, each shared by all requests that ask while it runs."""

    def __init__(self, look_up: Callable[[Key], Coroutine[Any, Any, Answer]]) -> None:
        self._look_up = look_up
        self._asking: dict[Key, asyncio.Task[Answer]] = {}

    def under_way(self, key: Key) -> asyncio.Task[Answer] | None:
        """Return the running lookup of this key in this event loop, if one exists."""
        asking = self._asking.get(key)
        return asking if asking is not None and asking.get_loop() is asyncio.get_running_loop() else None

    async def ask(self, key: Key) -> Answer:
        """Return the value. A request that stops waiting does not cancel the lookup."""
        asking = self.under_way(key)
        if asking is None:
            asking = self._asking[key] = asyncio.create_task(self._look_up(key))
            asking.add_done_callback(lambda done: self._answered(key, done))
        return await asyncio.shield(asking)

    def _answered(self, key: Key, asking: asyncio.Task[Answer]) -> None:
        if self._asking.get(key) is asking:
            del self._asking[key]
        if not asking.cancelled():
            asking.exception()  # each waiting request raises it; if none waits, asyncio must not warn about it
