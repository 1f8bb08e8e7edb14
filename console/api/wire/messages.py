"""Messages on the wire: as they are sent, as they are received, and what became of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from console.api.wire.shape import Document, Shape, Text, TraceText, whole

MOST_TOGETHER = 1000
MOST_SECONDS = 31_536_000  # a year
PRIORITIES = {"low": 0, "normal": 4, "high": 8}


def _number(priority: object) -> object:
    if not isinstance(priority, str):
        return priority
    if priority not in PRIORITIES:
        raise ValueError(f"must be {', '.join(PRIORITIES)}, or a number from 0 to 9")
    return PRIORITIES[priority]


Priority = Annotated[
    whole(0, 9),
    BeforeValidator(_number),
    WithJsonSchema({"anyOf": [{"enum": list(PRIORITIES)}, {"type": "integer", "minimum": 0, "maximum": 9}]}),
]
DelaySeconds = Annotated[float, Field(ge=0, le=MOST_SECONDS)]


class Attributes(Shape):
    """Small facts about the body. `priority` is the message's: low is 0, normal 4, high 8; without one it is 0."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [{"priority": "normal", "source": "shop"}]})

    priority: Priority | None = None


class NewMessage(Shape):
    """A message to send."""

    body: Any = Field(description="Any JSON value.", examples=[{"notificationId": "n_987", "template": "receipt"}])
    deduplication_key: Text | None = Field(
        default=None,
        description="Sent again within the queue's window it sends nothing, and answers with the first message.",
        examples=["notification:n_987"],
    )
    message_group_id: Text | None = Field(default=None, description="Its lane.", examples=["merchant_42"])
    delay_seconds: DelaySeconds | None = Field(default=None, description="Null: the queue's own delay.", examples=[0])
    attributes: Attributes | None = None
    trace_id: TraceText | None = None
    correlation_id: TraceText | None = None


class NewBatchMessage(NewMessage):
    """A message of a batch."""

    client_message_id: Text | None = Field(default=None, description="Comes back with its result.", examples=["m1"])


class _ReadOneByOne:
    """Taken as it is: one that is wrong gets a result of its own. Described as what it should be."""

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(NewBatchMessage.__pydantic_core_schema__)


class Batch(Shape):
    """Messages to send, each for itself, or all or none.

    Unless `atomic` is true, an invalid message, for example one without a body, does not refuse the request: its own
    result has the status rejected.
    """

    messages: Annotated[list[Annotated[Any, _ReadOneByOne()]], Field(min_length=1, max_length=MOST_TOGETHER)]
    atomic: bool = Field(
        default=False,
        description="All or none: where one cannot be sent, the whole request is refused and nothing was sent.",
    )


class Sent(Document):
    """Where a message is now."""

    message_id: str = Field(examples=["msg_123"])
    sequence: int = Field(examples=[123])


class Accepted(Sent):
    """A message of a batch that was sent."""

    client_message_id: str | None
    status: Literal["accepted"]


class Rejected(Document):
    """A message of a batch that was not, and why: a problem document."""

    client_message_id: str | None
    status: Literal["rejected"]
    error: dict[str, Any]


class BatchResults(Document):
    """One result for each message, in their order."""

    results: list[Accepted | Rejected]


class Receive(Shape):
    """How many messages to lease, and for how long."""

    max_messages: whole(1, MOST_TOGETHER) = 1
    wait_seconds: Annotated[float, Field(ge=0, le=20)] = Field(
        default=0, description="How long to wait for a message when there is none."
    )
    visibility_timeout_seconds: Annotated[float, Field(ge=0.1, le=43_200)] | None = Field(
        default=None, description="Null: as the queue's defaultVisibilityTimeoutSeconds."
    )
    consumer: Text | None = Field(default=None, description="Who receives, as the console shows it.")


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
    unreadable: UnreadableContent | None = Field(
        default=None,
        description="Present only when the message has stored JSON that the server cannot read: `body` or `state` is"
        " then null, or `attributes` are empty.",
    )


class UnreadableContent(Document):
    """Stored JSON that the server cannot read. New messages with such JSON are refused."""

    field: str = Field(description="payload, attributes or state.")
    text: str = Field(description="The JSON as stored.")
    reason: str


class ReceivedMessages(Document):
    """What was there to receive."""

    messages: list[Received]


class MessageOutcome(Document):
    """Where a message stands. `outcome` is null while it may still be delivered."""

    message_id: str
    sequence: int
    queue: str
    state: Literal["pending", "processing", "failed", "completed", "dead", "purged", "expired"]
    outcome: Literal["acked", "purged", "expired", "dead"] | None
    receive_count: int | None
    settled_at: str | None
    result: Any


class Announcement(Shape):
    """A consumer that is alive, and what it is."""

    consumer: Text = Field(examples=["billing-1"])
    details: dict[str, Any] = Field(default_factory=dict, examples=[{"host": "web-3", "version": "1.4"}])
