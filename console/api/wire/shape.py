"""What every shape of a request has in common: names in camelCase, no others, and no value taken for another type."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Shape(BaseModel):
    """An object of a request."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", strict=True, allow_inf_nan=False, ser_json_inf_nan="null"
    )


class Document(BaseModel):
    """An object of an answer: for the description, since answers are made by `answers.answer`."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")
