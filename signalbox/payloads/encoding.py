"""Encoding of Python values as JSON that PostgreSQL can store; an error names the part that cannot be stored.

The value is encoded once at the speed of the standard library's encoder; only a value that cannot be encoded is
examined part by part.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from signalbox.errors import InvalidArgument
from signalbox.payloads import binary
from signalbox.payloads.unreadable import is_deeper, items_inside


def encode(value: object, field: str = "payload") -> str:
    """Encode `value` as JSON text. Raises InvalidArgument that names the path of a part that is not JSON."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        reason = _fault(value, None, frozenset()) or f"is not JSON: {error}"
        raise InvalidArgument(f"{field} {reason}", field=field) from error
    if "\\u0000" in text and _NUL.search(text):
        fault = _fault(value, None, frozenset()) or "contains the character \\u0000"
        raise InvalidArgument(f"{field} {fault}", field=field)
    if text.count("[") + text.count("{") > MAX_LEVELS and is_deeper(value, MAX_LEVELS):
        raise InvalidArgument(f"{field} is nested too deeply: at most {MAX_LEVELS} levels", field=field)
    if len(text) > MAX_DIGITS and _LONG_NUMBER.search(text) and _has_long_number(value):
        raise InvalidArgument(f"{field} has a number of more than {MAX_DIGITS} digits", field=field)
    return text


def encode_payload(
    payload: object, attributes: Any, content_type: object = None, places: tuple[str, str] = ("payload", "content_type")
) -> tuple[str, Any]:
    """Encode a payload as JSON text; bytes add their content type to the attributes.

    `places` are the names of the payload and of the content type in errors.
    """
    if not isinstance(payload, bytes | bytearray | memoryview):
        if content_type is not None:
            raise InvalidArgument(
                f"{places[1]} is for a payload of bytes, and {places[0]} is of type {type(payload).__name__}",
                field=places[1],
            )
        return encode(payload, places[0]), attributes
    if attributes is not None and not isinstance(attributes, Mapping):
        return f'"{binary.written(payload)}"', attributes  # a later check refuses the attributes
    named = content_type or (attributes or {}).get(binary.CONTENT_TYPE) or binary.ANY_BYTES
    return f'"{binary.written(payload)}"', {**(attributes or {}), binary.CONTENT_TYPE: named}


def encode_payloads(
    payloads: Sequence[object], attributes: list[Any] | None, content_types: list[Any] | None
) -> tuple[list[str], list[Any] | None]:
    """Encode the payloads of a batch, and add the content types of bytes to their attributes."""
    none = [None] * len(payloads)
    given = zip(payloads, attributes or none, content_types or none, strict=True)
    encoded = [
        encode_payload(payload, own, content_type, (f"payloads[{index}]", f"content_types[{index}]"))
        for index, (payload, own, content_type) in enumerate(given)
    ]
    marked = [own for _, own in encoded]
    return [text for text, _ in encoded], marked if attributes is not None or any(marked) else None


def encode_within(max_bytes: int, value: object, field: str) -> str:
    """Encode `value` as JSON text of at most `max_bytes`, as PostgreSQL counts them: with spaces after commas."""
    text = encode(value, field)
    if (size := stored_bytes(value)) > max_bytes:
        raise InvalidArgument(f"{field} is {size} bytes of JSON: at most {max_bytes}", field=field)
    return text


def stored_bytes(value: object) -> int:
    """Count the bytes of `value` as text of a jsonb. 1e100 counts as written: PostgreSQL writes it in full."""
    return len(json.dumps(value, ensure_ascii=False).encode())


def encode_attributes(value: Mapping[str, object] | None, field: str = "attributes") -> str | None:
    """Attributes as the text of a JSON object; None stays None."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise InvalidArgument(f"{field} must be a mapping, not {type(value).__name__}", field=field)
    return encode(dict(value), field)


def _has_long_number(value: object) -> bool:
    """Return whether there is a whole number of more than MAX_DIGITS digits; other numbers are never as long."""
    level = [value]
    while level:
        if any(isinstance(item, int) and abs(item) >= _FIRST_LONG_NUMBER for item in level):
            return True
        level = items_inside(level)
    return False


#: The location of a value: that of its container, and the key or index there. Only an error needs it as text.
Location = tuple["Location", object] | None


def _fault(value: object, location: Location, containers: frozenset[int]) -> str | None:
    """Describe the fault of a value, or of its first faulty part; None without a fault."""
    if value is None or isinstance(value, bool | int):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"at {_path(location)} is {value}, which JSON does not have"
    if isinstance(value, str):
        fault = _text_fault(value)
        return fault and f"at {_path(location)} {fault}"
    if not isinstance(value, dict | list | tuple):
        return f"at {_path(location)} is of type {type(value).__qualname__}, which JSON does not have"
    if id(value) in containers:
        return f"at {_path(location)} contains itself"
    return _first_fault_inside(value, location, containers | {id(value)})


def _first_fault_inside(
    value: dict[object, object] | list[object] | tuple[object, ...], location: Location, containers: frozenset[int]
) -> str | None:
    if len(containers) > _MAX_DEPTH:
        return f"at {_path(location)[:80]}... is nested too deeply"
    if not isinstance(value, dict):
        faults = (_fault(item, (location, index), containers) for index, item in enumerate(value))
        return next(filter(None, faults), None)
    for key, item in value.items():
        if fault := _key_fault(key, location) or _fault(item, (location, key), containers):
            return fault
    return None


def _key_fault(key: object, location: Location) -> str | None:
    if isinstance(key, str):
        fault = _text_fault(key)
        return fault and f"at {_path(location)}.{key[:_MAX_CHARACTERS_OF_KEY]!r} (the key) {fault}"
    if key is None or isinstance(key, int | float):
        return None
    return f"at {_path(location)} has a key of type {type(key).__qualname__}; keys must be text"


def _text_fault(text: str) -> str | None:
    if "\x00" in text:
        return "contains the character \\u0000, which PostgreSQL cannot store"
    if _SURROGATE.search(text):
        return "contains half of a surrogate pair, which is not text"
    return None


def _path(location: Location) -> str:
    """The path as text, such as $.orders[3].name; long keys are cut."""
    steps: list[str] = []
    while location is not None:
        location, step = location
        steps.append(f"[{step}]" if isinstance(step, int) else f".{str(step)[:_MAX_CHARACTERS_OF_KEY]}")
    return "$" + "".join(reversed(steps))


#: The most bytes of JSON in a state, and in a result.
STATE_BYTES = 16_384
RESULT_BYTES = 65_536

#: The most nested levels of lists and objects, and the most digits of a number, that can be sent. The database has the
#: same limits in `signalbox._unreadable`. JSON parsers of other languages have limits just above, and code that walks a
#: payload in Python uses several of its 1,000 frames a level. A payload beyond the limits would fail at every consumer.
MAX_LEVELS = 128
MAX_DIGITS = 1000
_FIRST_LONG_NUMBER = 10**MAX_DIGITS
#: A match begins only at the first digit of a number: a search from each of 900 digits would be slow.
_LONG_NUMBER = re.compile(rf"(?<![0-9])[0-9]{{{MAX_DIGITS + 1}}}")

#: The most characters of a key that an error quotes.
_MAX_CHARACTERS_OF_KEY = 80

_SURROGATE = re.compile("[\ud800-\udfff]")

#: The encoded NUL itself, not the text backslash u0000, in which the backslash is encoded as two.
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")

#: The deepest level that the search for a fault visits: a level takes three of Python's 1,000 frames.
_MAX_DEPTH = 200
