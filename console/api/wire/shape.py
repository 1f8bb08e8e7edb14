"""What every shape of a request has in common: names in camelCase, no others, and no value taken for another type."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from signalbox.tracing.context import is_printable

HANDLE = r"^[0-9]{1,9}\.[0-9]{1,18}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"


def _whole(number: object) -> object:
    return int(number) if isinstance(number, float) and number.is_integer() else number


def whole(least: float | None, most: float | None) -> Any:
    """A whole number within these bounds. Of JSON, 5.0 is as whole as 5."""
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
"""What names a trace in logs and headers: without control characters."""
Handle = Annotated[str, WithJsonSchema({"type": "string", "pattern": HANDLE})]
"""A receipt handle; what is none is refused where its queue is known."""


class Shape(BaseModel):
    """An object of a request."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, allow_inf_nan=False)


class Question(BaseModel):
    """What an address asks after its question mark, where every value is text."""

    model_config = ConfigDict(alias_generator=to_camel, allow_inf_nan=False)


class Document(BaseModel):
    """An object of an answer: for the description, since answers are made by `answers.answer`."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")
