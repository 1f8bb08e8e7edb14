"""Captures of tables on the wire."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from console.api.core.shape import Document, Shape, Text

Columns = Annotated[list[Text], Field(min_length=1, max_length=1600)]


class NewCapture(Shape):
    """A table whose changes are appended to the stream, with the columns and a filter that select them."""

    table: Text = Field(examples=["public.orders"], description="The table as the setting CAPTURE_TABLES names it.")
    columns: Columns | None = Field(default=None, description="The columns in `before` and `after`. Null: all.")
    key: Columns | None = Field(default=None, description="The columns that identify a row. Null: the primary key.")
    filter: str = Field(
        default="",
        max_length=2000,
        pattern=r"^[^\x00]*$",
        examples=["payload.after.status:paid"],
        description="Selects the events that are appended. Empty: all.",
    )
    backfill: bool = Field(default=True, description="Whether the existing rows are appended too.")


class CaptureListing(Shape):
    """The stream to which a list is limited."""

    stream: Text | None = None


class CaptureDocument(Document):
    """A captured table. `table` is null after the table was dropped. `columns` is null if all are captured."""

    capture_id: str = Field(examples=["cap_3"])
    table: str | None
    stream: str
    columns: list[str] | None
    key: list[str]
    filter: str
    created_at: str
    backfilled: int = Field(description="The number of existing rows that were appended.")
    backfilled_at: str | None = Field(description="The end of the backfill; null while it is under way.")


class Captures(Document):
    """Captures by stream and table."""

    captures: list[CaptureDocument]


class CaptureEnd(Document):
    """The answer that says whether there was a capture to end."""

    changed: bool
