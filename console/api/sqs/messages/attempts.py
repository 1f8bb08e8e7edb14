"""ReceiveRequestAttemptId: a receive of a FIFO queue that is repeated within five minutes gets the same messages.

Each process remembers its own attempts. A repetition that another process answers waits for the visibility timeout, as
one without the id does.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence

from console.api.core import database
from console.api.sqs.errors import invalid_value
from signalbox import Message

KEEP_SECONDS = 300.0
MAX_REMEMBERED = 1_000
MAX_CHARACTERS = 128

Attempt = tuple[int, int, str]
"""The key, the queue, and the id that the sender chose."""


def check(attempt_id: str | None) -> None:
    """Check the id of an attempt. Raises `SqsError`."""
    if attempt_id is not None and not (0 < len(attempt_id) <= MAX_CHARACTERS and attempt_id.isprintable()):
        reason = "ReceiveRequestAttemptId can only include alphanumeric and punctuation characters. 1 to 128 in length."
        raise invalid_value("ReceiveRequestAttemptId", attempt_id, reason)


async def repeated(attempt: Attempt, visibility_seconds: float) -> list[Message]:
    """Return the messages of this attempt that are still in flight, and restart their visibility timeouts."""
    known = _attempts.get(attempt)
    if known is None or known[0] < time.monotonic():
        return []
    ends = await database.client().change_visibility_batch([one.receipt_handle for one in known[1]], visibility_seconds)
    return [message for message in known[1] if ends[message.receipt_handle] is not None]


def remember(attempt: Attempt, messages: Sequence[Message]) -> None:
    """Remember the messages of an attempt for five minutes."""
    if not messages:
        return
    _attempts[attempt] = time.monotonic() + KEEP_SECONDS, tuple(messages)
    _attempts.move_to_end(attempt)
    while len(_attempts) > MAX_REMEMBERED:
        _attempts.popitem(last=False)


_attempts: OrderedDict[Attempt, tuple[float, tuple[Message, ...]]] = OrderedDict()
