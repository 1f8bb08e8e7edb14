"""What a consumer says of its deliveries on the wire: one at a time, and many at once."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field

from console.api.wire.messages import MOST_TOGETHER, DelaySeconds, Receive, ReceivedMessages
from console.api.wire.shape import Document, Handle, Shape, Text
from signalbox.messages import FailureReason

Handles = Annotated[list[Handle], Field(min_length=1, max_length=MOST_TOGETHER)]
VisibilitySeconds = Annotated[float, Field(ge=0, le=43_200)]


class Ack(Shape):
    """What came of the work, if anything is to be kept of it: at most 64 KB."""

    result: Any = None


REASONS = sorted(get_args(FailureReason))
_REASONS_BESIDE_A_CLASS = {
    "anyOf": [
        {"properties": {"errorClass": {"type": "null"}}},
        {"properties": {"reason": {"enum": [*REASONS, None]}}},
    ]
}


class Nack(Shape):
    """What went wrong, and when to try again."""

    model_config = ConfigDict(json_schema_extra=_REASONS_BESIDE_A_CLASS)

    delay_seconds: DelaySeconds | None = Field(default=None, description="Null: the queue's backoff.", examples=[30])
    reason: Text | None = Field(
        default=None,
        description="rejected: do not try again. lock_expired, runtime_error (the default): do. Other words are taken "
        "for an error class.",
        examples=["third_party_timeout"],
    )
    error_class: Text | None = None
    error: str | None = None
    details: str | None = Field(default=None, description="The stack, usually.")
    state: Any = Field(default=None, description="For the next delivery, at most 16 KB; null: what there was stays.")


class ChangeVisibility(Shape):
    """How long from now the lease shall last; 0 gives the message back at once."""

    visibility_timeout_seconds: VisibilitySeconds


class AckBatch(Shape):
    """Deliveries that are done with; `results` has one entry for each."""

    receipt_handles: Handles
    results: list[Any] | None = None


class HandledNack(Nack):
    """One delivery of many that failed."""

    receipt_handle: Handle


class NackBatch(Shape):
    """Deliveries that failed, each with what went wrong."""

    messages: Annotated[list[HandledNack], Field(min_length=1, max_length=MOST_TOGETHER)]


class ChangeVisibilityBatch(ChangeVisibility):
    """Leases that shall all last as long."""

    receipt_handles: Handles


class AckAndReceive(Receive):
    """Deliveries that are done with, and how many messages to lease next; it does not wait."""

    receipt_handles: Handles
    results: list[Any] | None = None
    wait_seconds: Literal[0] = 0


class Settlement(Document):
    """What became of one delivery; lost: its lease was no longer held, and nothing was done."""

    receipt_handle: str
    status: Literal["acked", "retry", "dead", "changed", "lost"]
    deadline: str | None = Field(default=None, description="Until when the lease lasts now, where it was changed.")


class Settlements(Document):
    """One result for each receipt handle, in their order."""

    results: list[Settlement]


class SettlementsAndMessages(Settlements, ReceivedMessages):
    """What became of the deliveries, and what was there to receive."""
