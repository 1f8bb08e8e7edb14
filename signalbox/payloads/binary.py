"""Binary payloads: bytes travel as a JSON string in base64, beside an attribute with their content type."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

#: The attribute that makes a payload binary; its value is the content type of the bytes. The engine checks both.
CONTENT_TYPE = "binary_content_type"
#: The content type of bytes that are sent without one.
ANY_BYTES = "application/octet-stream"


def written(payload: bytes | bytearray | memoryview) -> str:
    """Write bytes as base64 without line ends."""
    return base64.b64encode(payload).decode()


def read(text: str) -> bytes | None:
    """Read base64; None for text that is none."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def content_type_of(attributes: object) -> str | None:
    """The content type of a binary payload; None where the attributes declare none."""
    value = attributes.get(CONTENT_TYPE) if isinstance(attributes, Mapping) else None
    return value if isinstance(value, str) else None


def decoded(payload: Any, attributes: object) -> Any:
    """The bytes of a binary payload. Any other payload, and text that is not base64, stays as it is."""
    if not isinstance(payload, str) or content_type_of(attributes) is None:
        return payload
    found = read(payload)
    return payload if found is None else found


def json_value(payload: Any) -> Any:
    """A payload as JSON has it: bytes as base64."""
    return written(payload) if isinstance(payload, bytes) else payload
