"""Messages on the wire that nobody takes."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from console.api.wire.shape import Document


class PeekedMessage(Document):
    """A message where it stands. What the masking rules hide is shown as a mask; there is no way around that here."""

    message_id: str = Field(examples=["msg_123"])
    sequence: int
    state: str = Field(description="ready, scheduled, waiting, leased, completed or dead.")
    body: Any = Field(description="null where it is gone, or large: then `bodyBytes` and `bodySha256` say what it is.")
    body_bytes: int | None
    body_sha256: str | None = Field(alias="bodySha256")
    attributes: dict[str, Any] | None
    message_group_id: str | None
    deduplication_key: str | None
    priority: int | None
    receive_count: int
    sent_at: str | None
    at: str = Field(description="When it became ready, is due, began to wait, was leased, was completed or died.")
    deadline: str | None
    consumer: str | None
    trace_id: str | None
    death: Death | None = Field(description="How it died; null for what is not dead.")


class Death(Document):
    """How a message died."""

    dead_letter_id: int
    source_queue: str
    reason: str
    error_class: str | None
    error: str | None
    details: str | None
    redrive_count: int


class PeekedMessages(Document):
    """A page of messages."""

    messages: list[PeekedMessage]
    next_cursor: str | None = Field(description="A page may be short, or empty, and have a successor.")
