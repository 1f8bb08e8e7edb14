"""What a handler may raise to decide a message's fate itself; any other exception is a failure to be retried."""

from __future__ import annotations

from signalbox import arguments


class Reject(Exception):  # noqa: N818 - it is said to the queue, not about the program
    """This message can never succeed: make it a dead letter at once, whatever deliveries it has left.

    `raise Reject("no such customer") from error` records the class and stack of `error`.
    """

    __module__ = "signalbox.worker"


class Retry(Exception):  # noqa: N818 - it is said to the queue, not about the program
    """Not now: deliver the message again after `delay` seconds (None: the queue's backoff).

    The delivery counts as a failed one, so a message that only ever asks for another try dies in the end.
    """

    __module__ = "signalbox.worker"

    def __init__(self, reason: str = "The handler asked for another try.", delay: float | None = None) -> None:
        super().__init__(reason)
        self.delay_seconds = arguments.optional_seconds("delay", delay)
