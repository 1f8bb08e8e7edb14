"""Base class of all request shapes: names in camelCase, no unknown names, no conversion between types.

An invalid value becomes a problem that names each field as it was sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from console.api.core.problems import Problem
from console.api.core.responses import moment
from signalbox.tracing.attributes import is_printable

HANDLE = r"^[0-9]{1,9}\.[0-9]{1,18}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"


def _whole(number: object) -> object:
    return int(number) if isinstance(number, float) and number.is_integer() else number


def whole(least: float | None, most: float | None) -> Any:
    """Return a type for whole numbers within bounds. As in JSON, 5.0 is a whole number."""
    return Annotated[int, Field(ge=least, le=most), BeforeValidator(_whole)]


def _printable(text: str) -> str:
    if not is_printable(text):
        raise ValueError("has a control character: use printable characters")
    return text


Text = Annotated[str, Field(min_length=1, max_length=200)]
TraceText = Annotated[
    str,
    Field(min_length=1, max_length=200, json_schema_extra={"pattern": r"^[^\x00-\x1f\x7f-\x9f]+$"}),
    AfterValidator(_printable),
]
"""A trace or correlation id: without control characters, because it is written to logs and headers."""
Handle = Annotated[str, WithJsonSchema({"type": "string", "pattern": HANDLE})]
"""A receipt handle. `own_handle` refuses an invalid one, because the check needs the queue."""


def _time(text: object) -> object:
    """Read a time in ISO 8601 with its zone."""
    if not isinstance(text, str):
        raise ValueError("should be a time in ISO 8601, such as 2026-01-31T12:00:00Z")
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise ValueError("should be a time in ISO 8601 with its zone, such as 2026-01-31T12:00:00Z")
    return at


Moment = Annotated[datetime, BeforeValidator(_time), Field(json_schema_extra={"format": "date-time"})]


class Shape(BaseModel):
    """A JSON object in a request."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, allow_inf_nan=False)


class Document(BaseModel):
    """A JSON object in an answer. It describes the answer and is not validated, because its values are the engine's."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")

    @classmethod
    def of(cls, source: object = None, **values: Any) -> dict[str, Any]:
        """Make the answer from the given values, and from the attributes of `source` for all other fields."""
        given = {name: values[name] if name in values else getattr(source, name) for name in cls.model_fields}
        return {
            cls.model_fields[name].alias or to_camel(name): moment(value) if isinstance(value, datetime) else value
            for name, value in given.items()
        }


MAX_ERRORS = 20


def invalid(errors: Sequence[Any], within: str = "") -> Problem:
    """Convert pydantic's errors into a problem; `within` is the field that was validated by itself."""
    faults: dict[str, str] = {}
    for error in errors:
        field = within + _field(error["loc"], bare=bool(within))
        faults.setdefault(field, _sentence(field, error))
    named = list(faults.items())[:MAX_ERRORS]
    return Problem("invalid-argument", named[0][1], errors=named)


def _field(loc: Sequence[str | int], *, bare: bool) -> str:
    """Return the field's name as it was sent, such as `messages[3].delaySeconds`, without ninja's prefix."""
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
