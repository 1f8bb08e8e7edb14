"""One poll that waits, and what it waits for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from signalbox import Message, arguments
from signalbox.errors import InvalidArgument

MOST_MESSAGES = 1000
MOST_VISIBILITY_SECONDS = 43_200.0


class Kind(NamedTuple):
    """What a lease depends on: messages claimed for one poll are good for another of the same kind."""

    visibility_timeout: float | None
    consumer: str | None


@dataclass(eq=False, slots=True)
class Waiter:
    """A poll in its queue's line. Its answer is given once: messages, none when its time is over, or an error."""

    kind: Kind
    max_messages: int
    answer: asyncio.Future[list[Message]] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    since: int = 0
    """How often its line had been looked into when it came."""

    @property
    def messages(self) -> list[Message]:
        """What it was given, if it was given anything."""
        given = self.answer.done() and not self.answer.cancelled() and self.answer.exception() is None
        return self.answer.result() if given else []

    def give(self, messages: list[Message]) -> None:
        """Answer, unless that was done."""
        if not self.answer.done():
            self.answer.set_result(messages)

    def refuse(self, error: Exception) -> None:
        """Answer with an error, unless that was done."""
        if not self.answer.done():
            self.answer.set_exception(error)


def waiter_of(max_messages: int, visibility_timeout: float | None, consumer: str | None) -> Waiter:
    """A poll with these wishes. They are checked here, since the claim that serves it serves others too."""
    if arguments.count("max_messages", max_messages) > MOST_MESSAGES:
        raise InvalidArgument(f"max_messages is {max_messages}: it must be from 1 to {MOST_MESSAGES}", "max_messages")
    seconds = arguments.optional_seconds("visibility_timeout", visibility_timeout)
    if seconds is not None and seconds > MOST_VISIBILITY_SECONDS:
        raise InvalidArgument(
            f"visibility_timeout is {seconds:g}: it must be from 0 to {MOST_VISIBILITY_SECONDS:g} seconds",
            "visibility_timeout",
        )
    return Waiter(Kind(seconds, arguments.optional_text("consumer", consumer)), max_messages)
