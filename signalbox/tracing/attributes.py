"""The attributes of a message that carry its trace and its correlation id, and how they are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from signalbox.payloads.binary import content_type_of

TRACEPARENT = "traceparent"
TRACESTATE = "tracestate"
CORRELATION_ID = "correlation_id"

#: The most characters of a correlation id.
MAX_CHARACTERS = 200

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")


class Marked:
    """A message of a queue or of a stream: its attributes carry a trace, a correlation id and a content type."""

    __slots__ = ()
    attributes: Mapping[str, Any]

    @property
    def trace_id(self) -> str | None:
        """The id of the trace in which the message was sent or appended; None without one."""
        return trace_id_of(self.attributes)

    @property
    def correlation_id(self) -> str | None:
        """The id that connects related messages; None without one."""
        return correlation_id_of(self.attributes)

    @property
    def content_type(self) -> str | None:
        """The content type of a payload of bytes; None for a JSON payload."""
        return content_type_of(self.attributes)


def trace_id_of(attributes: object) -> str | None:
    """The trace id of the trace context among these attributes; None where there is none, or it is malformed."""
    ids = _TRACEPARENT.fullmatch(_text_of(attributes, TRACEPARENT) or "")
    return ids[1] if ids and int(ids[1], 16) and int(ids[2], 16) else None


def correlation_id_of(attributes: object) -> str | None:
    """The correlation id among these attributes; None where there is none, or it is malformed."""
    text = _text_of(attributes, CORRELATION_ID)
    return text if text and len(text) <= MAX_CHARACTERS and is_printable(text) else None


def is_printable(text: str) -> bool:
    """Return whether the text has no control characters, which could break a line of a log or control a terminal."""
    return not _CONTROL.search(text)


def _text_of(attributes: object, name: str) -> str | None:
    value = attributes.get(name) if isinstance(attributes, Mapping) else None
    return value if isinstance(value, str) else None
