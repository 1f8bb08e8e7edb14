"""What a receive hands out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Self, get_args

from signalbox.tracing.context import correlation_id_of, trace_id_of
from signalbox.unreadable import Unreadable

#: What became of a nacked message; None instead means that the lease was no longer held.
NackOutcome = Literal["retry", "dead"]

#: Where a message stands: as the view message_status says it, and how it left otherwise.
MessageStatus = Literal["pending", "processing", "failed", "completed", "dead", "purged", "expired"]

#: How a message ended; dead ones may be redriven.
Ending = Literal["acked", "purged", "expired", "dead"]

#: Why a delivery failed: the handler refused the message for good, raised, or lost its time.
FailureReason = Literal["rejected", "runtime_error", "lock_expired"]
FAILURE_REASONS: tuple[FailureReason, ...] = get_args(FailureReason)


@dataclass(frozen=True, slots=True)
class Body:
    """Where the payload is that was too large for the database: under its hash, in hexadecimal, in a body store."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a message stands. `outcome` is None while it may still be delivered; then it is how it ended, and when.

    `result` is what its ack left, None when that was nothing.
    """

    message_id: int
    queue: str
    status: MessageStatus
    outcome: Ending | None
    receive_count: int | None
    settled_at: datetime | None
    result: Any


@dataclass(frozen=True, slots=True)
class Message:
    """One delivery of a message, leased to its receiver until `deadline` by the database's clock.

    `lease_seconds` is what was left of the lease when the message was received, measured by the
    database: unlike `deadline` it can be relied upon when this machine's clock is wrong. `state` is what the
    last failed delivery left for this one. `body` says that the payload is large: then it is fetched from
    the body store when it is first looked at. `unreadable` names the JSON of the message that Python cannot read. It
    takes the place of an unreadable payload; unreadable attributes are empty, and an unreadable state is None.
    """

    id: int
    receipt_handle: str
    receive_count: int
    payload: Any
    attributes: Mapping[str, Any]
    group_id: str | None
    priority: int
    sent_at: datetime
    deadline: datetime
    lease_seconds: float
    state: Any = None
    body: Body | None = None
    unreadable: Unreadable | None = None

    @property
    def trace_id(self) -> str | None:
        """Of the trace in which it was sent; None where its sender had none."""
        return trace_id_of(self.attributes)

    @property
    def correlation_id(self) -> str | None:
        """What its sender, or the message that its sender handled, gave it to be known by."""
        return correlation_id_of(self.attributes)

    def to_json(self) -> dict[str, Any]:
        """The message as a JSON object, for another process."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "payload"}
        return values | {
            "payload": None if self.body or isinstance(self.payload, Unreadable) else self.payload,
            "sent_at": self.sent_at.isoformat(),
            "deadline": self.deadline.isoformat(),
            "body": asdict(self.body) if self.body else None,
            "unreadable": self.unreadable.to_json() if self.unreadable else None,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The message that `to_json` described."""
        times = {name: datetime.fromisoformat(values[name]).astimezone(UTC) for name in ("sent_at", "deadline")}
        body = Body(**values["body"]) if values.get("body") else None
        unreadable = Unreadable(**values["unreadable"]) if values.get("unreadable") else None
        payload = unreadable if unreadable and unreadable.field == "payload" else values["payload"]
        return cls(**{**values, **times, "payload": payload, "body": body, "unreadable": unreadable})


class AckedAndReceived(NamedTuple):
    """For each receipt handle whether the lease was still held, and the messages received in the same call."""

    acked: dict[str, bool]
    messages: list[Message]


def handle_of(receipt: Message | str) -> str:
    """The receipt handle of a message, or the handle itself."""
    return receipt.receipt_handle if isinstance(receipt, Message) else receipt
