"""Lookups that many requests want at one moment: one of them looks up, and all get its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


class SingleFlight(Generic[Key, Answer]):
    """Shares one lookup for each key among all that ask while it is under way."""

    def __init__(self, look_up: Callable[[Key], Coroutine[Any, Any, Answer]]) -> None:
        self._look_up = look_up
        self._asking: dict[Key, asyncio.Task[Answer]] = {}

    def under_way(self, key: Key) -> asyncio.Task[Answer] | None:
        """Return the lookup of this key that another request in this loop has begun."""
        asking = self._asking.get(key)
        return asking if asking is not None and asking.get_loop() is asyncio.get_running_loop() else None

    async def ask(self, key: Key) -> Answer:
        """Return the answer; a request that gives up waiting does not stop the lookup."""
        asking = self.under_way(key)
        if asking is None:
            asking = self._asking[key] = asyncio.create_task(self._look_up(key))
            asking.add_done_callback(lambda done: self._answered(key, done))
        return await asyncio.shield(asking)

    def _answered(self, key: Key, asking: asyncio.Task[Answer]) -> None:
        if self._asking.get(key) is asking:
            del self._asking[key]
        if not asking.cancelled():
            asking.exception()  # every waiting request has it; there may be no waiting request left
