"""What a receive hands out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Self

#: What became of a nacked message; None instead means that the lease was no longer held.
NackOutcome = Literal["retry", "dead"]

#: Why a delivery failed: the handler refused the message for good, raised, or lost its time.
FailureReason = Literal["rejected", "runtime_error", "lock_expired"]


@dataclass(frozen=True, slots=True)
class Message:
    """One delivery of a message, leased to its receiver until `deadline` by the database's clock.

    `lease_seconds` is what was left of the lease when the message was received, measured by the
    database: unlike `deadline` it can be relied upon when this machine's clock is wrong.
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

    def to_json(self) -> dict[str, Any]:
        """The message as a JSON object, for another process."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return values | {"sent_at": self.sent_at.isoformat(), "deadline": self.deadline.isoformat()}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """The message that `to_json` described."""
        times = {name: datetime.fromisoformat(fields[name]).astimezone(UTC) for name in ("sent_at", "deadline")}
        return cls(**{**fields, **times})


class AckedAndReceived(NamedTuple):
    """For each receipt handle whether the lease was still held, and the messages received in the same call."""

    acked: dict[str, bool]
    messages: list[Message]


def handle_of(receipt: Message | str) -> str:
    """The receipt handle of a message, or the handle itself."""
    return receipt.receipt_handle if isinstance(receipt, Message) else receipt
