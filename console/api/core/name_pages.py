"""Pages of things in the order of their names: each page says where the next one begins."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Annotated, Any, TypeVar

from django.db.models import Model, QuerySet
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from console.api.core.problems import Problem

MAX_ON_A_PAGE = 1000
STORABLE = r"^[^\x00]*$"
"""Text without the character NUL, which PostgreSQL does not accept."""
CURSOR = r"^[A-Za-z0-9_-]+$"
"""The characters of cursors. `name_in` refuses a cursor that no page has given."""
Thing = TypeVar("Thing", bound=Model)


class NameListing(BaseModel):
    """The parameters of a list in the order of names."""

    # Not strict, unlike other shapes, because every value in an address is text.
    model_config = ConfigDict(alias_generator=to_camel, allow_inf_nan=False)

    prefix: Annotated[str, Field(max_length=100, pattern=STORABLE)] = ""
    tenant: Annotated[str, Field(min_length=1, max_length=100, pattern=STORABLE)] | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_ON_A_PAGE)] = 100
    cursor: Annotated[str, Field(max_length=400, json_schema_extra={"pattern": CURSOR})] | None = None


def page_of(things: QuerySet[Thing], wanted: NameListing) -> tuple[list[Any], str | None]:
    """Return the wanted page of things that have a name and a tenant, and the cursor of the page after it."""
    things = things.filter(name__startswith=wanted.prefix)
    if wanted.tenant is not None:
        things = things.filter(tenant__name=wanted.tenant)
    if wanted.cursor is not None:
        things = things.filter(name__gt=name_in(wanted.cursor))
    found: list[Any] = list(things[: wanted.limit + 1])
    shown = found[: wanted.limit]
    return shown, cursor_of(shown[-1].name) if len(found) > len(shown) else None


def cursor_of(name: str) -> str:
    """Return the cursor of the page after this name."""
    return urlsafe_b64encode(name.encode()).decode().rstrip("=")


def name_in(cursor: str) -> str:
    """Return the name after which a page begins. Refuses a cursor that no page has given."""
    try:
        name = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except ValueError:
        name = ""
    if not name or cursor_of(name) != cursor or not name.isprintable():
        raise Problem.of_field("cursor", "cursor must be the nextCursor of a page of this list")
    return name
