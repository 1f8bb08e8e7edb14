"""Presence of consumers in a long poll: one statement records all of them."""

from __future__ import annotations

import time
from collections.abc import Mapping

from console.api.waiting.line import Line
from console.api.waiting.places import Ask

#: How often each is noted; unseen for 60 seconds it would no longer count.
NOTE_SECONDS = 10.0


class Presence:
    """The time of the last announcement of each consumer, by queue."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._noted_at: dict[tuple[str, str], float] = {}

    async def note(self, lines: Mapping[str, Line]) -> None:
        """Record the waiting consumers that were not recorded lately."""
        now = time.monotonic()
        waiting = {
            (queue, waiter.kind.consumer) for queue, line in lines.items() for waiter in line if waiter.kind.consumer
        }
        self._noted_at = {pair: at for pair, at in self._noted_at.items() if pair in waiting}
        due = sorted(pair for pair in waiting if self._noted_at.get(pair, -NOTE_SECONDS) + NOTE_SECONDS <= now)
        if due:
            queues, consumers = zip(*due, strict=True)
            await self._ask("select signalbox.see_consumers(%s::text[], %s::text[])", [list(queues), list(consumers)])
            self._noted_at.update(dict.fromkeys(due, now))
