"""What reading a stream gives, and how far a group is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from signalbox.tracing.context import correlation_id_of, trace_id_of
from signalbox.unreadable import Unreadable

#: Where a new group begins, or a rewound one goes on.
Point = Literal["beginning", "end", "time", "offset"]


class Place(NamedTuple):
    """Where a message of a stream stands: positions count within a partition, from 1."""

    partition: int
    position: int


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """A message read from a stream. `epoch` is that of the group's partition: committing needs it.

    `unreadable` names the JSON of the message that Python cannot read. It takes the place of an unreadable payload;
    unreadable attributes are empty. A commit includes such a message like any other.
    """

    partition: int
    position: int
    epoch: int
    key: str | None
    payload: Any
    attributes: Mapping[str, Any]
    appended_at: datetime
    unreadable: Unreadable | None = None

    @property
    def trace_id(self) -> str | None:
        """Of the trace in which it was appended; None where its sender had none."""
        return trace_id_of(self.attributes)

    @property
    def correlation_id(self) -> str | None:
        """What its sender, or the message that its sender handled, gave it to be known by."""
        return correlation_id_of(self.attributes)


class Moved(NamedTuple):
    """One partition of a rewind; `messages` positions are read again, or passed over where it is below zero."""

    partition: int
    from_position: int
    to_position: int
    messages: int


def last_of_each(messages: Iterable[StreamMessage]) -> list[StreamMessage]:
    """The last message of each partition: committing these commits all."""
    last: dict[int, StreamMessage] = {}
    for message in messages:
        known = last.get(message.partition)
        if known is None or message.position > known.position:
            last[message.partition] = message
    return [last[partition] for partition in sorted(last)]
