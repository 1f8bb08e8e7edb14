"""Messages as they are received, and their outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Self, get_args

from signalbox.payloads.binary import decoded, json_value
from signalbox.payloads.unreadable import Unreadable
from signalbox.tracing.attributes import Marked

#: The outcome of a nack; None instead means that the lease was no longer held.
NackOutcome = Literal["retry", "dead"]

#: The state of a message as in the view message_status, or how the message ended.
MessageStatus = Literal["pending", "processing", "failed", "completed", "dead", "purged", "expired"]

#: How a message ended; a dead message may be redriven.
Ending = Literal["acked", "purged", "expired", "dead"]

#: Why a delivery failed: the handler rejected the message, raised an error, or exceeded its time.
FailureReason = Literal["rejected", "runtime_error", "lock_expired"]
FAILURE_REASONS: tuple[FailureReason, ...] = get_args(FailureReason)


@dataclass(frozen=True, slots=True)
class Body:
    """The hash, in hexadecimal, and the size of a large payload in a body store."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of a message. `outcome` is None while it may still be delivered; then it says how the message ended.

    `result` is the result of its ack, None without one.
    """

    message_id: int
    queue: str
    status: MessageStatus
    outcome: Ending | None
    receive_count: int | None
    settled_at: datetime | None
    result: Any


@dataclass(frozen=True, slots=True)
class Message(Marked):
    """One delivery of a message, leased to its receiver until `deadline` by the database's clock.

    `lease_seconds` is what was left of the lease when the message was received, measured by the
    database: unlike `deadline` it can be relied upon when this machine's clock is wrong. `state` is what the
    last failed delivery left for this one. A payload with a `content_type` is bytes. `body` is set for a large
    payload, which the first access fetches from the body store. `unreadable` names the JSON of the message that Python
    cannot read. It takes the place of an unreadable payload; unreadable attributes are empty, and an unreadable state
    is None.
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
    def sequence_number(self) -> int:
        """The number with which a FIFO queue orders a message group: it rises with each message, with gaps.

        It is the id with which the message was sent, also where it is received as a dead letter.
        """
        origin = self.attributes.get("dead_letter")
        first = origin.get("message_id") if isinstance(origin, Mapping) else None
        return first if isinstance(first, int) else self.id

    def to_json(self) -> dict[str, Any]:
        """Describe the message as a JSON object, for another process."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "payload"}
        return values | {
            "payload": None if self.body or isinstance(self.payload, Unreadable) else json_value(self.payload),
            "sent_at": self.sent_at.isoformat(),
            "deadline": self.deadline.isoformat(),
            "body": asdict(self.body) if self.body else None,
            "unreadable": self.unreadable.to_json() if self.unreadable else None,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Make the message again from the JSON object of `to_json`."""
        times = {name: datetime.fromisoformat(values[name]).astimezone(UTC) for name in ("sent_at", "deadline")}
        body = Body(**values["body"]) if values.get("body") else None
        unreadable = Unreadable(**values["unreadable"]) if values.get("unreadable") else None
        is_unreadable = unreadable is not None and unreadable.field == "payload"
        payload = unreadable if is_unreadable else decoded(values["payload"], values["attributes"])
        return cls(**{**values, **times, "payload": payload, "body": body, "unreadable": unreadable})


@dataclass(frozen=True, slots=True)
class StreamMessage(Marked):
    """A message read from a stream. `epoch` is the epoch of the partition in this group; a commit must name it.

    `unreadable` names the JSON of the message that Python cannot read. It takes the place of an unreadable payload;
    unreadable attributes are empty. A commit includes such a message like any other. `body` is set for a large payload,
    which the first access fetches from the body store.
    """

    partition: int
    position: int
    epoch: int
    key: str | None
    payload: Any
    attributes: Mapping[str, Any]
    appended_at: datetime
    unreadable: Unreadable | None = None
    body: Body | None = None


class AckedAndReceived(NamedTuple):
    """The answers to acks by receipt handle, and the messages received in the same call."""

    acked: dict[str, bool]
    messages: list[Message]


def handle_of(receipt: Message | str) -> str:
    """The receipt handle of a message, or the handle itself."""
    return receipt.receipt_handle if isinstance(receipt, Message) else receipt


def payload_of(message: Message | StreamMessage) -> Any:
    """The payload of a message; that of a large message is read from its body store."""
    return message.payload
