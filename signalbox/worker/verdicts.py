"""What a handler may raise to decide a message's fate itself; any other exception is a failure to be retried."""

from __future__ import annotations

from typing import Any

from signalbox import arguments
from signalbox.payloads import STATE_BYTES, encode_within


class Reject(Exception):  # noqa: N818 - it is said to the queue, not about the program
    """This message can never succeed: make it a dead letter at once, whatever deliveries it has left.

    `raise Reject("no such customer") from error` records the class and stack of `error`.
    """

    __module__ = "signalbox.worker"


class Retry(Exception):  # noqa: N818 - it is said to the queue, not about the program
    """Not now: deliver the message again after `delay` seconds (None: the queue's backoff).

    The delivery counts as a failed one, so a message that only ever asks for another try dies in the end.
    `state`, at most 16 KB of JSON, is what the next delivery finds in `message.state`; None leaves what there was.
    """

    __module__ = "signalbox.worker"

    def __init__(
        self, reason: str = "The handler asked for another try.", delay: float | None = None, *, state: Any = None
    ) -> None:
        super().__init__(reason)
        self.delay_seconds = arguments.optional_seconds("delay", delay)
        if state is not None:
            encode_within(STATE_BYTES, state, "state")
        self.state = state
