"""What travels with a message: W3C trace context and a correlation id, as three of its attributes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from signalbox.tracing import spans

TRACEPARENT = "traceparent"
TRACESTATE = "tracestate"
CORRELATION_ID = "correlation_id"

#: As the database has them at most: what would not fit beside the sender's own attributes is left out.
ATTRIBUTES_BYTES = 16_384
MOST_CHARACTERS = 200
MOST_STATE_CHARACTERS = 512

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class Handled:
    """The message that is being handled here and now."""

    queue: str
    message_id: int
    receive_count: int
    trace_id: str | None
    correlation_id: str | None


handled: ContextVar[Handled | None] = ContextVar("signalbox_handled", default=None)


def current() -> Handled | None:
    """The message that this thread or task handles, if it does."""
    return handled.get()


def trace_id_of(attributes: Mapping[str, Any] | None) -> str | None:
    """The trace id of the trace context among these attributes; None where there is none, or it is malformed."""
    found = _TRACEPARENT.fullmatch(_text_of(attributes, TRACEPARENT) or "")
    return found[1] if found and int(found[1], 16) and int(found[2], 16) else None


def correlation_id_of(attributes: Mapping[str, Any] | None) -> str | None:
    """The correlation id among these attributes; None where there is none that could be one."""
    found = _text_of(attributes, CORRELATION_ID)
    return found if found and len(found) <= MOST_CHARACTERS and is_printable(found) else None


def is_printable(text: str) -> bool:
    """Whether it has no control characters, which would end a line of a log, or be obeyed by a terminal."""
    return not _CONTROL.search(text)


def carried(attributes: Any, correlation_id: str | None = None) -> Any:
    """The attributes with what goes along: the span under way, and the correlation id that is given or inherited.

    What the sender has put there already stays; where nothing goes along, so do the attributes. Whatever is no
    mapping is left to whoever checks them.
    """
    if attributes is not None and not isinstance(attributes, Mapping):
        return attributes
    own: dict[str, object] = dict(attributes or {})
    marks = {} if TRACEPARENT in own else _trace_context()
    if correlation_id is None and CORRELATION_ID not in own and (here := handled.get()) is not None:
        correlation_id = here.correlation_id
    if correlation_id is not None:
        marks[CORRELATION_ID] = correlation_id
    if not marks:
        return attributes
    together = own | marks
    return together if _fits(together) else attributes


def _trace_context() -> dict[str, object]:
    marks = spans.under_way()
    state = marks.get(TRACESTATE, "")
    return {name: value for name, value in marks.items() if name != TRACESTATE or len(state) <= MOST_STATE_CHARACTERS}


def _fits(attributes: Mapping[str, object]) -> bool:
    try:
        return len(json.dumps(attributes, ensure_ascii=False).encode()) <= ATTRIBUTES_BYTES
    except (TypeError, ValueError, RecursionError):
        return False  # it is refused later, by what is wrong with it


def _text_of(attributes: Mapping[str, Any] | None, name: str) -> str | None:
    value = attributes.get(name) if isinstance(attributes, Mapping) else None
    return value if isinstance(value, str) else None
