"""Reading of stored JSON: a placeholder stands for a value that Python cannot read, so that other rows stay readable.

PostgreSQL stores longer numbers and deeper nesting than Python reads. `send` refuses both, but a stored message may be
older than that rule, or written without the verbs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, NoReturn

from signalbox.payloads.binary import decoded

#: The most levels of arrays and objects that are read: more than `send` accepts, and few enough to be written again.
MAX_LEVELS_READ = 500


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The placeholder of a JSON value that Python cannot read: the field, the JSON as stored, and the reason."""

    field: str
    text: str
    reason: str

    def __str__(self) -> str:
        return f"{self.field} is JSON that Python cannot read: {self.reason}"

    def to_json(self) -> dict[str, str]:
        """Describe the placeholder as a JSON object; `Unreadable(**fields)` restores it."""
        return asdict(self)


class Contents(NamedTuple):
    """The JSON values of one message. `unreadable` is the first of them that cannot be read, None when all can."""

    payload: Any
    attributes: dict[str, Any]
    state: Any
    unreadable: Unreadable | None


def decode(text: str | bytes, field: str = "payload") -> Any:
    """Decode JSON; returns an `Unreadable` for a value that Python cannot read."""
    try:
        written = text if isinstance(text, str) else text.decode()
        # PostgreSQL writes numbers in full: one beyond the range of a float has at least this many characters.
        is_short = len(written) < _INFINITE_CHARACTERS and isinstance(text, str)
        value = json.loads(written) if is_short else _STRICT.decode(written)
    except RecursionError:
        return _unreadable(field, text, "it is nested too deeply")
    except ValueError as error:
        return _unreadable(field, text, str(error)[:200])
    if written.count("[") + written.count("{") > MAX_LEVELS_READ and is_deeper(value, MAX_LEVELS_READ):
        return _unreadable(field, text, f"it is nested too deeply: at most {MAX_LEVELS_READ} levels")
    return value


def decode_contents(payload: str, attributes: str | None, state: str | None = None) -> Contents:
    """Decode the values of a message. Unreadable attributes become empty, and an unreadable state becomes None."""
    values = (
        decode(payload),
        decode(attributes, "attributes") if attributes else {},
        decode(state, "state") if state else None,
    )
    unreadable = next((value for value in values if isinstance(value, Unreadable)), None)
    if unreadable is None:
        return Contents(decoded(values[0], values[1]), values[1], values[2], None)
    readable = [None if isinstance(value, Unreadable) else value for value in values]
    return Contents(values[0], readable[1] or {}, readable[2], unreadable)


def is_deeper(value: object, levels: int) -> bool:
    """Return whether lists and objects are nested in more levels than these."""
    level = [value]
    for _ in range(levels):
        level = items_inside(level)
        if not level:
            return False
    return any(isinstance(item, dict | list | tuple) for item in level)


def items_inside(values: Iterable[object]) -> list[object]:
    """The items of all lists, and the values of all objects, among these values."""
    containers = (value for value in values if isinstance(value, dict | list | tuple))
    return [item for value in containers for item in (value.values() if isinstance(value, dict) else value)]


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"it has a number of {len(text)} characters, too large for a float")
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _unreadable(field: str, text: str | bytes, reason: str) -> Unreadable:
    return Unreadable(field, text if isinstance(text, str) else text.decode(errors="replace"), reason)


_INFINITE_CHARACTERS = 309
_STRICT = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)
