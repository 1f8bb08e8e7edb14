"""Reading of stored JSON: a value that Python cannot read is one bad value, and no error for other rows.

PostgreSQL stores longer numbers and deeper nesting than Python reads. `send` refuses both, but a stored message may be
older than that rule, or written without the verbs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, NoReturn

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
        """Describe it as a JSON object, from which `Unreadable(**fields)` makes it again."""
        return asdict(self)


class Contents(NamedTuple):
    """The JSON values of one message. `unreadable` is the first of them that cannot be read, None when all can."""

    payload: Any
    attributes: dict[str, Any]
    state: Any
    unreadable: Unreadable | None


def decode(text: str | bytes, field: str = "payload") -> Any:
    """The value of this JSON, or an `Unreadable` in its place."""
    try:
        written = text if isinstance(text, str) else text.decode()
        # PostgreSQL writes numbers out: what is infinite as a float is never shorter than this.
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
    """The values of a message. Attributes that cannot be read are empty, such a state is None."""
    read = decode(payload)
    properties = decode(attributes, "attributes") if attributes else {}
    left = decode(state, "state") if state else None
    unreadable = next((one for one in (read, properties, left) if isinstance(one, Unreadable)), None)
    if unreadable is not None:
        properties = {} if isinstance(properties, Unreadable) else properties
        left = None if isinstance(left, Unreadable) else left
    return Contents(read, properties, left, unreadable)


def is_deeper(value: object, levels: int) -> bool:
    """Return whether the value has more levels of lists and objects."""
    level = [value]
    for _ in range(levels):
        level = [item for one in level if isinstance(one, dict | list | tuple) for item in inside(one)]
        if not level:
            return False
    return any(isinstance(one, dict | list | tuple) for one in level)


def inside(value: Any) -> Iterable[Any]:
    """The items of a list, or the values of an object."""
    return value.values() if isinstance(value, dict) else value


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
