"""Who waited may be another by then: a key is revoked, a queue's name is given to others. Those get no messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.api.authentication import key_of
from console.api.known_queues import KnownQueue, queue_not_found, queue_of_its_own
from console.api.waiting import give_back
from signalbox import Message


async def check(request: Any, queue: KnownQueue, messages: Sequence[Message]) -> None:
    """Raises the problem that the same request would be answered with now; the messages then go back at once.

    Who gets nothing asks again anyway.
    """
    if not messages:
        return
    try:
        key = await key_of(request.META.get("HTTP_AUTHORIZATION"))
        await queue_of_its_own(key, queue.name)
        if any(_queue_id(message) != queue.queue_id for message in messages):
            raise queue_not_found(queue.name)
    except BaseException:
        give_back(list(messages))
        raise


def _queue_id(message: Message) -> int:
    """A receipt handle begins with its queue's id, which is never given to another."""
    return int(message.receipt_handle.partition(".")[0])
