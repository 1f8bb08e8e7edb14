"""Encoding of Python values as JSON that PostgreSQL can store; an error names the part that it cannot.

The value is encoded once at the speed of the standard library's encoder; only a value that fails is walked.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

from signalbox.errors import InvalidArgument
from signalbox.unreadable import inside, is_deeper


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


def encode_within(max_bytes: int, value: object, field: str) -> str:
    """Encode `value` as JSON text of at most `max_bytes`, as PostgreSQL counts them: with spaces after commas."""
    text = encode(value, field)
    if (size := stored_bytes(value)) > max_bytes:
        raise InvalidArgument(f"{field} is {size} bytes of JSON: at most {max_bytes}", field=field)
    return text


def stored_bytes(value: object) -> int:
    """Bytes of `value` as the text of a jsonb, but for long numbers, which PostgreSQL writes out in full."""
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
        if any(isinstance(one, int) and abs(one) >= _FIRST_LONG_NUMBER for one in level):
            return True
        level = [item for one in level if isinstance(one, dict | list | tuple) for item in inside(one)]
    return False


#: The way to a value: the way to its container, and its key or index there. Written as text only for a fault.
Way = tuple["Way", object] | None


def _fault(value: object, way: Way, above: frozenset[int]) -> str | None:
    """The fault of `value`, or of its first faulty part; None without a fault."""
    if value is None or isinstance(value, bool | int):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"at {_path(way)} is {value}, which JSON does not have"
    if isinstance(value, str):
        fault = _text_fault(value)
        return fault and f"at {_path(way)} {fault}"
    if not isinstance(value, dict | list | tuple):
        return f"at {_path(way)} is of type {type(value).__qualname__}, which JSON does not have"
    if id(value) in above:
        return f"at {_path(way)} contains itself"
    return _first_fault_inside(value, way, above | {id(value)})


def _first_fault_inside(
    value: dict[object, object] | list[object] | tuple[object, ...], way: Way, above: frozenset[int]
) -> str | None:
    if len(above) > _MAX_DEPTH:
        return f"at {_path(way)[:80]}... is nested too deeply"
    if not isinstance(value, dict):
        faults = (_fault(item, (way, index), above) for index, item in enumerate(value))
        return next(filter(None, faults), None)
    for key, item in value.items():
        if fault := _key_fault(key, way) or _fault(item, (way, key), above):
            return fault
    return None


def _key_fault(key: object, way: Way) -> str | None:
    if isinstance(key, str):
        fault = _text_fault(key)
        return fault and f"at {_path(way)}.{key[:_MAX_CHARACTERS_OF_KEY]!r} (the key) {fault}"
    if key is None or isinstance(key, int | float):
        return None
    return f"at {_path(way)} has a key of type {type(key).__qualname__}; keys must be text"


def _text_fault(text: str) -> str | None:
    if "\x00" in text:
        return "contains the character \\u0000, which PostgreSQL cannot store"
    if _SURROGATE.search(text):
        return "contains half of a surrogate pair, which is not text"
    return None


def _path(way: Way) -> str:
    """The path as text, such as $.orders[3].name; long keys are cut."""
    steps: list[str] = []
    while way is not None:
        way, step = way
        steps.append(f"[{step}]" if isinstance(step, int) else f".{str(step)[:_MAX_CHARACTERS_OF_KEY]}")
    return "$" + "".join(reversed(steps))


#: Most bytes of a state and of a result.
STATE_BYTES = 16_384
RESULT_BYTES = 65_536

#: The most nested levels of lists and objects, and the most digits of a number, that can be sent. The database has the
#: same limits in `signalbox._unreadable`. JSON parsers of other languages have limits just above, and code that walks a
#: payload in Python uses several of its 1,000 frames a level. A payload beyond the limits would fail at every consumer.
MAX_LEVELS = 128
MAX_DIGITS = 1000
_FIRST_LONG_NUMBER = 10**MAX_DIGITS
#: Begins where the digits begin: tried at each of 900 digits, it would read them 900 times.
_LONG_NUMBER = re.compile(rf"(?<![0-9])[0-9]{{{MAX_DIGITS + 1}}}")

#: Of a key in the words of a fault.
_MAX_CHARACTERS_OF_KEY = 80

_SURROGATE = re.compile("[\ud800-\udfff]")

#: The encoded NUL itself, not the text backslash u0000, in which the backslash is encoded as two.
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")

#: Levels the walk goes down: it takes three Python frames a level, of the 1000 there are.
_MAX_DEPTH = 200
