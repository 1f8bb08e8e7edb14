"""What every shape of a request has in common: names in camelCase, no others, and no value taken for another type."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

HANDLE = r"^[0-9]{1,9}\.[0-9]{1,18}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"


def _whole(number: object) -> object:
    return int(number) if isinstance(number, float) and number.is_integer() else number


def whole(least: float | None, most: float | None) -> Any:
    """A whole number within these bounds. Of JSON, 5.0 is as whole as 5."""
    return Annotated[int, Field(ge=least, le=most), BeforeValidator(_whole)]


Text = Annotated[str, Field(min_length=1, max_length=200)]
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
