"""How the run of a handler ended, in words that cross from the child process to its parent as JSON."""

from __future__ import annotations

import logging
import traceback
from dataclasses import dataclass
from typing import Any, Literal

from signalbox.errors import InvalidArgument, MessageUnreadable
from signalbox.payloads import RESULT_BYTES, encode_within
from signalbox.unreadable import Unreadable
from signalbox.worker.verdicts import Reject, Retry

logger = logging.getLogger(__name__)

#: Bytes of a stack that are recorded with a failure, and characters of an error's message.
MAX_DETAILS_BYTES = 65_536
MAX_ERROR_CHARACTERS = 10_000

Kind = Literal["done", "failed", "rejected", "retry", "stopped", "timed_out"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one run. "stopped" is by the worker's own wish: the message goes back as it came."""

    kind: Kind
    error_class: str | None = None
    error: str | None = None
    details: str | None = None
    delay_seconds: float | None = None
    #: For the next delivery, and what the handler returned: JSON values, None for nothing.
    state: Any = None
    result: Any = None

    def to_json(self) -> dict[str, Any]:
        """The outcome as a JSON object; `Outcome(**fields)` makes it again."""
        return {name: getattr(self, name) for name in self.__slots__}


DONE = Outcome("done")


def done_with(result: object) -> Outcome:
    """The work is done, and this came of it. What cannot be kept is left out: the work is done all the same."""
    if result is None:
        return DONE
    try:
        encode_within(RESULT_BYTES, result, "result")
    except InvalidArgument as error:
        logger.warning("What the handler returned is not kept: %s", error)
        return DONE
    return Outcome("done", result=result)


def outcome_of(error: BaseException) -> Outcome:
    """What a handler's exception means. A verdict raised `from` an error is recorded as that error."""
    told = error
    if isinstance(error, Reject | Retry) and error.__cause__ is not None:
        told = error.__cause__
    return Outcome(
        kind="rejected" if isinstance(error, Reject) else "retry" if isinstance(error, Retry) else "failed",
        error_class=qualified_name(type(told)),
        error=_message(error)[:MAX_ERROR_CHARACTERS],
        details=bounded("".join(traceback.format_exception(_from_the_handler(error)))),
        delay_seconds=error.delay_seconds if isinstance(error, Retry) else None,
        state=error.state if isinstance(error, Retry) else None,
    )


def rejected_as_unreadable(unreadable: Unreadable) -> Outcome:
    """Reject an unreadable message: a further delivery would not make it readable."""
    return Outcome("rejected", error_class=qualified_name(MessageUnreadable), error=str(unreadable))


def qualified_name(kind: type) -> str:
    """The name of a class as one would import it; built-in ones by their bare name."""
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def bounded(text: str, limit: int = MAX_DETAILS_BYTES) -> str:
    """Text of at most `limit` bytes: its beginning and, three times as much, its end."""
    data = text.encode(errors="backslashreplace")
    if len(data) <= limit:
        return text
    mark = f"\n... {len(data) - limit} bytes left out ...\n"
    head = limit // 4
    tail = limit - head - len(mark)
    return data[:head].decode(errors="ignore") + mark + data[-tail:].decode(errors="ignore")


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(the exception cannot be put into words)"


def _from_the_handler(error: BaseException) -> BaseException:
    """The error with a stack that begins in the handler, not in the worker that called it."""
    if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
        return error.with_traceback(error.__traceback__.tb_next)
    return error
