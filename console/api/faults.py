"""What a shape says is wrong with a request, as a problem that names each field as it was sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.api.problems import Problem

MOST_ERRORS = 20


def invalid(errors: Sequence[Any], within: str = "") -> Problem:
    """The problem that these errors of pydantic are; `within` is the field that was looked at by itself."""
    faults: dict[str, str] = {}
    for error in errors:
        field = within + _field(error["loc"], bare=bool(within))
        faults.setdefault(field, _sentence(field, error))
    named = list(faults.items())[:MOST_ERRORS]
    return Problem("invalid-argument", named[0][1], errors=named)


def _field(loc: Sequence[str | int], *, bare: bool) -> str:
    """As it was sent: `messages[3].delaySeconds`. Ninja puts before it where it stood, and of a body our own name."""
    parts = loc if bare else loc[2:] if loc[0] == "body" else loc[1:]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return field if bare else field.removeprefix(".") or "body"


def _sentence(field: str, error: Any) -> str:
    words = _WORDS.get(error["type"]) or error["msg"].removeprefix("Input ").removeprefix("Value error, ")
    return f"{field} {words}"


_WORDS = {
    "missing": "is required",
    "extra_forbidden": "is not a field of this request",
    "model_type": "should be an object",
    "model_attributes_type": "should be an object",
    "dict_type": "should be an object",
    "string_unicode": "has half of a surrogate pair, which is not text",
}
