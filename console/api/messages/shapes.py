"""Messages on the wire: as they are sent, as they are received, and their outcomes."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from console.api.core.shape import Document, Handle, Moment, Shape, Text, TraceText, whole
from signalbox.arguments import MAX_PRIORITY
from signalbox.messages import FailureReason

MAX_TOGETHER = 1000
MAX_SECONDS = 31_536_000  # a year
PRIORITIES = {"low": 0, "normal": 4, "high": 8}


def _number(priority: object) -> object:
    if not isinstance(priority, str):
        return priority
    if priority not in PRIORITIES:
        raise ValueError(f"must be {', '.join(PRIORITIES)}, or a number from 0 to {MAX_PRIORITY}")
    return PRIORITIES[priority]


Priority = Annotated[
    whole(0, MAX_PRIORITY),
    BeforeValidator(_number),
    WithJsonSchema({"anyOf": [{"enum": list(PRIORITIES)}, {"type": "integer", "minimum": 0, "maximum": MAX_PRIORITY}]}),
]
DelaySeconds = Annotated[float, Field(ge=0, le=MAX_SECONDS)]


class Attributes(Shape):
    """Names and values beside the payload. `priority` is low (0), normal (4) or high (8); the default is 0."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [{"priority": "normal", "source": "shop"}]})

    priority: Priority | None = None


class NewMessageMembers(Shape):
    """The members of a message to send, by itself or in a batch."""

    body: Any = Field(
        description="Any JSON value; with a contentType, bytes in base64.",
        examples=[{"notificationId": "n_987", "template": "receipt"}],
    )
    content_type: Text | None = Field(
        default=None,
        description="The type of a binary body, such as image/png. Null: the body is JSON.",
        examples=[None],
    )
    deduplication_key: Text | None = Field(
        default=None,
        description="A second send with this key within the queue's window adds nothing; it returns the first.",
        examples=["notification:n_987"],
    )
    message_group_id: Text | None = Field(default=None, description="The message group.", examples=["merchant_42"])
    delay_seconds: DelaySeconds | None = Field(default=None, description="Null: the queue's own delay.", examples=[0])
    expires_at: Moment | None = Field(default=None, description="Not delivered after this time.", examples=[None])
    max_receive_count: whole(1, 1000) | None = Field(
        default=None,
        description="Deliveries until the message is a dead letter. Null: the queue's setting.",
        examples=[None],
    )
    attributes: Attributes | None = None
    trace_id: TraceText | None = None
    correlation_id: TraceText | None = None


class NewMessage(NewMessageMembers):
    """A message to send."""

    count_group: bool = Field(default=False, description="Also return how many messages wait in the message group.")


class NewBatchMessage(NewMessageMembers):
    """A message of a batch."""

    client_message_id: Text | None = Field(default=None, description="Returned with the result.", examples=["m1"])


class _ReadOneByOne:
    """A message of a batch before validation. An invalid one gets a result of its own."""

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(NewBatchMessage.__pydantic_core_schema__)


class Batch(Shape):
    """Messages to send independently, or all or none with `atomic`.

    Unless `atomic` is true, an invalid message, for example one without a payload, does not refuse the request: its own
    result has the status rejected.
    """

    messages: Annotated[list[Annotated[Any, _ReadOneByOne()]], Field(min_length=1, max_length=MAX_TOGETHER)]
    atomic: bool = Field(
        default=False,
        description="All or none: one invalid message refuses the whole request, and nothing is sent.",
    )


class Sent(Document):
    """The id and the number of a sent message."""

    message_id: str = Field(examples=["msg_123"])
    sequence: int = Field(
        examples=[123], description="The message's number. In a FIFO queue it rises with the order in a message group."
    )


class SentAlone(Sent):
    """A message that was sent by itself."""

    group_waiting: int | None = Field(
        default=None,
        description="With `countGroup`: the number of messages that wait in the group, this one included. Null if the"
        " queue has no order and no limit for groups.",
    )


class Accepted(Sent):
    """A message of a batch that was sent."""

    client_message_id: str | None
    status: Literal["accepted"]


class Rejected(Document):
    """A message of a batch that was refused, with its problem document."""

    client_message_id: str | None
    status: Literal["rejected"]
    error: dict[str, Any]


class BatchResults(Document):
    """One result for each message, in order."""

    results: list[Accepted | Rejected]


class Receive(Shape):
    """The number of messages to receive, and the length of their leases."""

    max_messages: whole(1, MAX_TOGETHER) = 1
    wait_seconds: Annotated[float, Field(ge=0, le=20)] | None = Field(
        default=None,
        description="Seconds to wait for a message if the queue is empty. Null: the queue's receiveWaitSeconds.",
    )
    visibility_timeout_seconds: Annotated[float, Field(ge=0.1, le=43_200)] | None = Field(
        default=None, description="Null: the queue's defaultVisibilityTimeoutSeconds."
    )
    consumer: Text | None = Field(default=None, description="The name of the consumer that the console shows.")


class Received(Sent):
    """One delivery of a message."""

    receipt_handle: str
    receive_count: int
    body: Any = Field(description="A JSON value; with a contentType, bytes in base64.")
    content_type: str | None
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
    """Stored JSON that the server cannot parse. New messages with such JSON are refused."""

    field: str = Field(description="payload, attributes or state.")
    text: str = Field(description="The JSON as stored.")
    reason: str


class ReceivedMessages(Document):
    """The messages that a call received."""

    messages: list[Received]


class MessageOutcome(Sent):
    """The state and outcome of a message. `outcome` is null while it may still be delivered."""

    queue: str
    state: Literal["pending", "processing", "failed", "completed", "dead", "purged", "expired"]
    outcome: Literal["acked", "purged", "expired", "dead"] | None
    receive_count: int | None
    settled_at: str | None
    result: Any


class Announcement(Shape):
    """A live consumer and its description."""

    consumer: Text = Field(examples=["billing-1"])
    details: dict[str, Any] = Field(default_factory=dict, examples=[{"host": "web-3", "version": "1.4"}])


Handles = Annotated[list[Handle], Field(min_length=1, max_length=MAX_TOGETHER)]
VisibilitySeconds = Annotated[float, Field(ge=0, le=43_200)]


class Ack(Shape):
    """The optional result of the work, at most 64 KB."""

    result: Any = None


REASONS = sorted(get_args(FailureReason))


class Nack(Shape):
    """The cause of a failed delivery, and the delay before the next."""

    delay_seconds: DelaySeconds | None = Field(default=None, description="Null: the queue's backoff.", examples=[30])
    reason: Text | None = Field(
        default=None,
        description="rejected: not delivered again. lock_expired, runtime_error (the default): delivered again. Any "
        "other word is stored as the error class.",
        examples=["third_party_timeout"],
    )
    error_class: Text | None = Field(
        default=None, description="Allowed without a reason or with one of these three.", examples=["OrderLocked"]
    )
    error: str | None = None
    details: str | None = Field(default=None, description="Usually the stack trace.")
    state: Any = Field(default=None, description="State for the next delivery, at most 16 KB. Null: unchanged.")


class Defer(Shape):
    """The delay of a message that is put off, and the state for its next delivery."""

    delay_seconds: DelaySeconds = Field(examples=[60])
    state: Any = Field(default=None, description="State for the next delivery, at most 16 KB. Null: unchanged.")


class ChangeVisibility(Shape):
    """The new length of the lease from now on; 0 returns the message at once."""

    visibility_timeout_seconds: VisibilitySeconds


class AckBatch(Shape):
    """Completed deliveries; `results` has one entry for each."""

    receipt_handles: Handles
    results: list[Any] | None = None


class HandledNack(Nack):
    """One failed delivery of several."""

    receipt_handle: Handle


class NackBatch(Shape):
    """Failed deliveries, each with its cause."""

    messages: Annotated[list[HandledNack], Field(min_length=1, max_length=MAX_TOGETHER)]


class HandledDefer(Defer):
    """One deferred delivery of several."""

    receipt_handle: Handle


class DeferBatch(Shape):
    """Deferred deliveries, each with its delay."""

    messages: Annotated[list[HandledDefer], Field(min_length=1, max_length=MAX_TOGETHER)]


class ChangeVisibilityBatch(ChangeVisibility):
    """Leases that get the same new length."""

    receipt_handles: Handles


class AckAndReceive(AckBatch, Receive):
    """Completed deliveries, and the number of messages to receive next. This call does not wait."""

    wait_seconds: Literal[0] = 0


class Settlement(Document):
    """The result of one delivery. `lost` means that its lease had ended, so nothing changed."""

    receipt_handle: str
    status: Literal["acked", "retry", "dead", "deferred", "changed", "lost"]
    deadline: str | None = Field(default=None, description="The end of a changed lease.")
    due_at: str | None = Field(default=None, description="The time at which a deferred message is due.")


class Settlements(Document):
    """One result for each receipt handle, in order."""

    results: list[Settlement]


class SettlementsAndMessages(Settlements, ReceivedMessages):
    """The results of the deliveries, and the received messages."""


class PeekedMessage(Sent):
    """A message and its state. Masked fields are shown as masks; the API cannot reveal them."""

    state: str = Field(description="ready, scheduled, waiting, leased, completed or dead.")
    body: Any = Field(description="Null if it is gone or large. `bodyBytes` and `bodySha256` describe a large body.")
    content_type: str | None = Field(description="The type of a binary body, whose `body` is in base64.")
    body_bytes: int | None
    body_sha256: str | None = Field(alias="bodySha256")
    attributes: dict[str, Any] | None
    message_group_id: str | None
    deduplication_key: str | None
    priority: int | None
    receive_count: int
    sent_at: str | None
    at: str = Field(description="When the message became ready, is due, began to wait, was leased, completed or died.")
    deadline: str | None
    consumer: str | None
    trace_id: str | None
    death: Death | None = Field(description="The failure that made it a dead letter. Null in other states.")


class Death(Document):
    """The final failure of a message: where, when and why."""

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
    next_cursor: str | None = Field(description="Null on the last page. A short or empty page may have a next page.")
