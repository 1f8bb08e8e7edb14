"""The polls that wait for one queue, in order of arrival, and the task that receives for them.

A poll never receives by itself: if it were cancelled during the statement, its messages would stay leased without a
consumer. The task receives for the polls at the head of the line, and hands messages to polls that still wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from signalbox import Message, arguments
from signalbox.errors import InvalidArgument
from signalbox.logs import in_brief

#: Messages that one claim takes at most for several polls together. A single poll may ask for more.
MAX_TOGETHER = 100
MAX_MESSAGES = 1000
MAX_VISIBILITY_SECONDS = 43_200.0

#: Errors of a claim that mean an outage: the next claim may succeed.
AWAY = (psycopg.OperationalError, PoolTimeout, PoolClosed, TooManyRequests)

logger = logging.getLogger(__name__)


class Kind(NamedTuple):
    """The terms of a lease. A message that was received for one poll fits every poll of the same kind."""

    visibility_timeout: float | None
    consumer: str | None
    by_groups: bool = False
    """Whether one claim takes several messages of a FIFO group. Another poll must not get a part of them."""


@dataclass(eq=False, slots=True)
class Waiter:
    """A waiting poll. It gets one answer: messages, an empty list when its time is over, or an error."""

    kind: Kind
    max_messages: int
    answer: asyncio.Future[list[Message]] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    since: int = 0
    """The number of checks that the line had finished when the poll arrived."""

    @property
    def messages(self) -> list[Message]:
        """Return the messages that the poll was given, if any."""
        given = self.answer.done() and not self.answer.cancelled() and self.answer.exception() is None
        return self.answer.result() if given else []

    def give(self, messages: list[Message]) -> None:
        """Answer with messages, unless the poll was answered."""
        if not self.answer.done():
            self.answer.set_result(messages)

    def refuse(self, error: Exception) -> None:
        """Answer with an error, unless the poll was answered."""
        if not self.answer.done():
            self.answer.set_exception(error)


def waiter_of(
    max_messages: int, visibility_timeout: float | None, consumer: str | None, *, by_groups: bool = False
) -> Waiter:
    """Make a poll from checked arguments. One statement serves several polls, so an invalid poll must not join."""
    if arguments.count("max_messages", max_messages) > MAX_MESSAGES:
        raise InvalidArgument(f"max_messages is {max_messages}: it must be from 1 to {MAX_MESSAGES}", "max_messages")
    seconds = arguments.optional_seconds("visibility_timeout", visibility_timeout)
    if seconds is not None and seconds > MAX_VISIBILITY_SECONDS:
        raise InvalidArgument(
            f"visibility_timeout is {seconds:g}: it must be from 0 to {MAX_VISIBILITY_SECONDS:g} seconds",
            "visibility_timeout",
        )
    return Waiter(Kind(seconds, arguments.optional_text("consumer", consumer), by_groups), max_messages)


Claim = Callable[[int, Kind], Awaitable[list[Message]]]
GiveBack = Callable[[list[Message]], None]


class Line:
    """The polls that wait for one queue. `deserted` is called when none waits and no task receives."""

    def __init__(self, claim: Claim, give_back: GiveBack, deserted: Callable[[Line], None]) -> None:
        self._claim = claim
        self._give_back = give_back
        self._deserted = deserted
        self._waiters: dict[Waiter, None] = {}
        self._wanted = False
        self._looks = 0
        self.looker: asyncio.Task[None] | None = None
        """The task that receives for the line; None while no task does."""
        self.trouble: Exception | None = None
        """The outage that the last check met; None if the check succeeded."""

    def __len__(self) -> int:
        return len(self._waiters)

    def __iter__(self) -> Iterator[Waiter]:
        return iter(list(self._waiters))

    def has_looked_for(self, waiter: Waiter) -> bool:
        """Return whether the queue was checked since the poll arrived."""
        return self._looks > waiter.since

    def join(self, waiter: Waiter) -> None:
        """Add a poll at the end of the line."""
        waiter.since = self._looks
        self._waiters[waiter] = None

    def leave(self, waiter: Waiter) -> None:
        """Remove a poll that waits no longer."""
        self._waiters.pop(waiter, None)
        if not self._waiters and self.looker is None:
            self._deserted(self)

    def look(self) -> asyncio.Task[None] | None:
        """Check the queue; if a check is running, check once more after it."""
        self._wanted = True
        if self.looker is None and self._waiters:
            self.looker = asyncio.get_running_loop().create_task(self._look())
        return self.looker

    def hand_on(self, kind: Kind, messages: list[Message], to: Iterable[Waiter] = ()) -> None:
        """Give messages to these polls, then to others of the same kind in order; return the rest to the queue."""
        rest = self._share(messages, to)
        if rest and not kind.by_groups:
            rest = self._share(rest, [waiter for waiter in self._waiters if waiter.kind == kind])
        if rest:
            self._give_back(rest)

    def dismiss(self) -> None:
        """Answer all polls with no messages."""
        for waiter in self:
            waiter.give([])

    async def _look(self) -> None:
        try:
            while self._wanted and self._waiters:
                self._wanted = False
                while (head := self._head()) and await self._serve(head):
                    pass
        finally:
            self.looker = None
            if not self._waiters:
                self._deserted(self)

    def _head(self) -> list[Waiter]:
        """Return the polls at the head of the line that one statement can serve."""
        head: list[Waiter] = []
        wanted = 0
        for waiter in self._waiters:
            if waiter.answer.done():
                continue  # the poll has its answer and is about to leave the line
            wanted += waiter.max_messages
            if head and (waiter.kind != head[0].kind or waiter.kind.by_groups or wanted > MAX_TOGETHER):
                break
            head.append(waiter)
        return head

    async def _serve(self, head: list[Waiter]) -> bool:
        """Receive for the polls at the head; return whether any message came."""
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
        """Give each poll up to the number that it wants, and return the rest."""
        for waiter in waiters:
            if not messages:
                break
            if not waiter.answer.done():
                waiter.give(messages[: waiter.max_messages])
                messages = messages[waiter.max_messages :]
                self._waiters.pop(waiter, None)
        return messages

    def _tell(self, error: Exception, head: list[Waiter]) -> None:
        """Answer with an error: a refusal goes to the polls of the statement, an outage to the unchecked polls."""
        if not isinstance(error, AWAY):
            for waiter in head:
                waiter.refuse(error)
            self._wanted = True  # check again for the polls behind them
            return
        if self.trouble is None:
            logger.warning("Long polls wait until the database is back: %s", in_brief(error))
        self.trouble = error
        for waiter in self:
            if not self.has_looked_for(waiter):
                waiter.refuse(error)
