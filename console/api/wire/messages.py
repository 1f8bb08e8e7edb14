"""Messages on the wire: as they are sent, and as they are received."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from console.api.wire.shape import Document, Shape

MOST_SECONDS = 31_536_000  # a year
PRIORITIES = {"low": 0, "normal": 4, "high": 8}

Text = Annotated[str, Field(min_length=1, max_length=200)]
Priority = Annotated[int, Field(ge=0, le=9)] | Literal["low", "normal", "high"]


class NewMessage(Shape):
    """A message to send."""

    body: JsonValue = Field(
        description="Any JSON value.", examples=[{"notificationId": "n_987", "template": "receipt"}]
    )
    deduplication_key: Text | None = None
    message_group_id: Text | None = None
    delay_seconds: Annotated[float, Field(ge=0, le=MOST_SECONDS)] | None = None
    attributes: dict[str, JsonValue] | None = None
    trace_id: Text | None = None
    correlation_id: Text | None = None


class Sent(Document):
    """Where a message is now."""

    message_id: str = Field(examples=["msg_123"])
    sequence: int = Field(examples=[123])


class Receive(Shape):
    """How many messages to lease, and for how long."""

    max_messages: Annotated[int, Field(ge=1, le=1000)] = 1
    wait_seconds: Annotated[float, Field(ge=0, le=20)] = 0
    visibility_timeout_seconds: Annotated[float, Field(ge=0.1, le=43_200)] | None = None
    consumer: Text | None = None


class Received(Document):
    """One delivery of a message."""

    message_id: str
    sequence: int
    receipt_handle: str
    receive_count: int
    body: Any
    attributes: dict[str, Any]
    message_group_id: str | None
    priority: int
    sent_at: str
    deadline: str
    lease_seconds: float
    state: Any
    trace_id: str | None
    correlation_id: str | None


class ReceivedMessages(Document):
    """What was there to receive."""

    messages: list[Received]


class Ack(Shape):
    """What came of the work, if anything is to be kept of it."""

    result: JsonValue = None
