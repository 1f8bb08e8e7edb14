"""The polls that wait for one queue, in the order in which they came, and the one task that receives for them.

A claim is never made by a poll itself: whoever is cut off while its claim is under way would leave its messages leased
to nobody. The task of the line claims for those at its head, and gives to whoever still waits when the answer is there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from console.api.waiting.waiter import Kind, Waiter
from signalbox import Message
from signalbox.logs import in_brief

#: Messages that are claimed together for several polls; a single one may ask for more.
MOST_TOGETHER = 100

#: A claim that found no database: it may be there again in a moment.
AWAY = (psycopg.OperationalError, PoolTimeout, PoolClosed, TooManyRequests)

Claim = Callable[[int, Kind], Awaitable[list[Message]]]
GiveBack = Callable[[list[Message]], None]

logger = logging.getLogger(__name__)


class Line:
    """Who waits for one queue. `deserted` is called when nobody waits any more and nobody looks."""

    def __init__(self, claim: Claim, give_back: GiveBack, deserted: Callable[[Line], None]) -> None:
        self._claim = claim
        self._give_back = give_back
        self._deserted = deserted
        self._waiters: dict[Waiter, None] = {}
        self._looker: asyncio.Task[None] | None = None
        self._wanted = False
        self._looks = 0
        self.trouble: Exception | None = None
        """Why the last look failed; None when it did not."""

    def __len__(self) -> int:
        return len(self._waiters)

    def __iter__(self) -> Iterator[Waiter]:
        return iter(list(self._waiters))

    @property
    def looker(self) -> asyncio.Task[None] | None:
        """The task that is receiving just now."""
        return self._looker

    def has_looked_for(self, waiter: Waiter) -> bool:
        """Has anybody looked since it came?"""
        return self._looks > waiter.since

    def join(self, waiter: Waiter) -> None:
        """Take the last place."""
        waiter.since = self._looks
        self._waiters[waiter] = None

    def leave(self, waiter: Waiter) -> None:
        """Give up the place; it may have been lost already by being served."""
        self._waiters.pop(waiter, None)
        if not self._waiters and self._looker is None:
            self._deserted(self)

    def look(self) -> asyncio.Task[None] | None:
        """Have the queue looked into; once more, if somebody is at it already."""
        self._wanted = True
        if self._looker is None and self._waiters:
            self._looker = asyncio.get_running_loop().create_task(self._look())
        return self._looker

    def hand_on(self, kind: Kind, messages: list[Message], to: Iterable[Waiter] = ()) -> None:
        """Give messages to these polls, then to others of their kind in order; back to the queue what nobody takes."""
        rest = self._share(messages, to)
        if rest:
            rest = self._share(rest, [waiter for waiter in self._waiters if waiter.kind == kind])
        if rest:
            self._give_back(rest)

    def dismiss(self) -> None:
        """Answer everybody: there is nothing."""
        for waiter in self:
            waiter.give([])

    async def _look(self) -> None:
        try:
            while self._wanted and self._waiters:
                self._wanted = False
                while (head := self._head()) and await self._serve(head):
                    pass
        finally:
            self._looker = None
            if not self._waiters:
                self._deserted(self)

    def _head(self) -> list[Waiter]:
        """Those at the head who can be served by one claim."""
        head: list[Waiter] = []
        wanted = 0
        for waiter in self._waiters:
            if waiter.answer.done():
                continue  # about to leave
            wanted += waiter.max_messages
            if head and (waiter.kind != head[0].kind or wanted > MOST_TOGETHER):
                break
            head.append(waiter)
        return head

    async def _serve(self, head: list[Waiter]) -> bool:
        """Receive for them; was there anything?"""
        kind = head[0].kind
        try:
            messages = await self._claim(sum(waiter.max_messages for waiter in head), kind)
        except Exception as error:
            self._tell(error, head)
            return False
        self.trouble = None
        self._looks += 1
        self.hand_on(kind, messages, head)
        return bool(messages)

    def _share(self, messages: list[Message], waiters: Iterable[Waiter]) -> list[Message]:
        """What is left when each has got as many as it wants."""
        for waiter in waiters:
            if not messages:
                break
            if not waiter.answer.done():
                waiter.give(messages[: waiter.max_messages])
                messages = messages[waiter.max_messages :]
                self._waiters.pop(waiter, None)
        return messages

    def _tell(self, error: Exception, head: list[Waiter]) -> None:
        """A refusal concerns those it was said to; that the database is away, those who have just come."""
        if not isinstance(error, AWAY):
            for waiter in head:
                waiter.refuse(error)
            self._wanted = True  # for those behind them
            return
        if self.trouble is None:
            logger.warning("Long polls wait for a database that is away: %s", in_brief(error))
        self.trouble = error
        for waiter in self:
            if not self.has_looked_for(waiter):
                waiter.refuse(error)
