"""The context that a sent message inherits: W3C trace context and a correlation id, as three of its attributes.

`handling` sets the context while a thread or task handles a message.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from signalbox.tracing import spans
from signalbox.tracing.attributes import CORRELATION_ID, TRACEPARENT, TRACESTATE

if TYPE_CHECKING:
    from signalbox.messages import Message

#: The database's limit for attributes: ids that do not fit beside the sender's attributes are left out.
ATTRIBUTES_BYTES = 16_384
MAX_STATE_CHARACTERS = 512


@dataclass(frozen=True, slots=True)
class Handled:
    """The message that a thread or task handles."""

    queue: str
    message_id: int
    receive_count: int
    trace_id: str | None
    correlation_id: str | None


_handled: ContextVar[Handled | None] = ContextVar("signalbox_handled", default=None)


def current() -> Handled | None:
    """The message that this thread or task handles; None when it handles none."""
    return _handled.get()


@contextmanager
def handling(queue: str, message: Message) -> Iterator[None]:
    """Handle a message within the block. Workers enter it for every handler; a program that calls `receive` may.

    Messages that are sent within the block inherit the correlation id. With opentelemetry-api a span is
    recorded, and an exception becomes its status. The block works in threads and in tasks.
    """
    token = _handled.set(Handled(queue, message.id, message.receive_count, message.trace_id, message.correlation_id))
    try:
        with spans.consumer(queue, message):
            yield
    finally:
        _handled.reset(token)


def carried(attributes: Any, correlation_id: str | None = None) -> Any:
    """Add the trace context of the current span and the correlation id, given or inherited, to the attributes.

    Ids that the sender has set stay. A value that is no mapping is returned unchanged: a later check refuses it.
    """
    if attributes is not None and not isinstance(attributes, Mapping):
        return attributes
    own: dict[str, object] = dict(attributes or {})
    marks = {} if TRACEPARENT in own else spans.current_context()
    if len(marks.get(TRACESTATE, "")) > MAX_STATE_CHARACTERS:
        del marks[TRACESTATE]
    if correlation_id is None and CORRELATION_ID not in own and (here := _handled.get()) is not None:
        correlation_id = here.correlation_id
    if correlation_id is not None:
        marks[CORRELATION_ID] = correlation_id
    if not marks:
        return attributes
    marked = own | marks
    return marked if _fits(marked) else attributes


def _fits(attributes: Mapping[str, object]) -> bool:
    try:
        return len(json.dumps(attributes, ensure_ascii=False).encode()) <= ATTRIBUTES_BYTES
    except (TypeError, ValueError, RecursionError):
        return False  # a later check refuses it with the reason
