"""The outcome of a handler's run, as JSON from the child process to its parent, and the handler's verdicts."""

from __future__ import annotations

import logging
import traceback
from dataclasses import dataclass
from typing import Any, Literal

from signalbox import arguments
from signalbox.errors import InvalidArgument
from signalbox.logs.errors import name_of
from signalbox.payloads.encoding import RESULT_BYTES, STATE_BYTES, encode_within
from signalbox.payloads.unreadable import Unreadable

logger = logging.getLogger(__name__)

#: The most bytes of a stack, and the most characters of an error's message, that a failure records.
MAX_DETAILS_BYTES = 65_536
MAX_ERROR_CHARACTERS = 10_000

Kind = Literal["deferred", "done", "failed", "rejected", "retry", "stopped", "timed_out"]


class Reject(Exception):  # noqa: N818 - a verdict on the message, no error of the program
    """The message can never succeed: make it a dead letter at once, without further deliveries.

    `raise Reject("no such customer") from error` records the class and stack of `error`.
    """

    __module__ = "signalbox.worker"


class Retry(Exception):  # noqa: N818 - a verdict on the message, no error of the program
    """The message cannot be handled now: deliver it again after `delay` seconds (None: the queue's backoff).

    The delivery counts as a failed one, so a message with nothing but retries becomes a dead letter in the end.
    `state`, at most 16 KB of JSON, becomes `message.state` of the next delivery; None keeps the earlier state.
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


class Defer(Exception):  # noqa: N818 - a verdict on the message, no error of the program
    """The message is not ready to be handled: deliver it again after `delay` seconds.

    The delivery is no failure and does not count towards `max_receives`, so a message may be deferred for ever.
    `state`, at most 16 KB of JSON, becomes `message.state` of the next delivery; None keeps the earlier state.
    """

    __module__ = "signalbox.worker"

    def __init__(self, delay: float, *, state: Any = None) -> None:
        super().__init__(f"The handler deferred the message for {delay} seconds.")
        self.delay_seconds = arguments.seconds("delay", delay)
        if state is not None:
            encode_within(STATE_BYTES, state, "state")
        self.state = state


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one run. "stopped" is the worker's own decision: the message is given back."""

    kind: Kind
    error_class: str | None = None
    error: str | None = None
    details: str | None = None
    delay_seconds: float | None = None
    #: The state for the next delivery, and the handler's return value: JSON, or None.
    state: Any = None
    result: Any = None

    def to_json(self) -> dict[str, Any]:
        """The outcome as a JSON object; `Outcome(**fields)` makes it again."""
        return {name: getattr(self, name) for name in self.__slots__}


DONE = Outcome("done")


def done_with(result: object) -> Outcome:
    """The outcome of finished work with its result; a result that cannot be stored is left out."""
    if result is None:
        return DONE
    try:
        encode_within(RESULT_BYTES, result, "result")
    except InvalidArgument as error:
        logger.warning("The return value of the handler is not kept: %s", error)
        return DONE
    return Outcome("done", result=result)


def outcome_of(error: BaseException) -> Outcome:
    """The outcome for a handler's exception. A verdict raised `from` an error is recorded as that error."""
    if isinstance(error, Defer):
        return Outcome("deferred", delay_seconds=error.delay_seconds, state=error.state)
    recorded = error
    if isinstance(error, Reject | Retry) and error.__cause__ is not None:
        recorded = error.__cause__
    return Outcome(
        kind="rejected" if isinstance(error, Reject) else "retry" if isinstance(error, Retry) else "failed",
        error_class=name_of(recorded),
        error=_message_of(error)[:MAX_ERROR_CHARACTERS],
        details=bounded("".join(traceback.format_exception(_from_the_handler(error)))),
        delay_seconds=error.delay_seconds if isinstance(error, Retry) else None,
        state=error.state if isinstance(error, Retry) else None,
    )


def rejected_as_unreadable(unreadable: Unreadable) -> Outcome:
    """Reject an unreadable message: a further delivery would not make it readable."""
    return Outcome("rejected", error_class="signalbox.errors.MessageUnreadable", error=str(unreadable))


def bounded(text: str, limit: int = MAX_DETAILS_BYTES) -> str:
    """Shorten text to at most `limit` bytes: a quarter from its beginning, the rest from its end."""
    data = text.encode(errors="backslashreplace")
    if len(data) <= limit:
        return text
    mark = f"\n... {len(data) - limit} bytes left out ...\n"
    head = limit // 4
    tail = limit - head - len(mark)
    return data[:head].decode(errors="ignore") + mark + data[-tail:].decode(errors="ignore")


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(the exception has no readable message)"


def _from_the_handler(error: BaseException) -> BaseException:
    """The error with a stack that begins in the handler, not in the worker that called it."""
    if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
        return error.with_traceback(error.__traceback__.tb_next)
    return error
