"""What every shape of a request has in common: names in camelCase, no others, and no value taken for another type."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Text = Annotated[str, Field(min_length=1, max_length=200)]


class Shape(BaseModel):
    """An object of a request."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, allow_inf_nan=False)


class Question(BaseModel):
    """What an address asks after its question mark, where every value is text."""

    model_config = ConfigDict(alias_generator=to_camel, allow_inf_nan=False)


class Document(BaseModel):
    """An object of an answer: for the description, since answers are made by `answers.answer`."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")
