"""receive over HTTP, also with acknowledgements, and the wire's messages as ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from signalbox import statements
from signalbox.durations import RECEIVE
from signalbox.errors import InvalidArgument
from signalbox.http import names
from signalbox.http.call import Answer, Call, T, address, document, given
from signalbox.http.calls.settling import acked
from signalbox.http.handles import apart, with_queue
from signalbox.messages import AckedAndReceived, Message
from signalbox.statements.statement import handles_of
from signalbox.unreadable import Unreadable

#: The longest that the server waits for messages in one request.
MAX_WAIT_SECONDS = 20.0


def receive(
    queue: str, max_messages: int, visibility_timeout: float | None, consumer: str | None, wait_seconds: float
) -> Call[list[Message]]:
    """Up to `max_messages` messages, leased to the caller; of an empty queue, after at most `wait_seconds`.

    One whose answer was lost is asked again: what the first has leased comes back when its lease ends.
    """
    wanted = _wanted(queue, max_messages, visibility_timeout, consumer) | {"waitSeconds": given(wait_seconds)}
    return _receive(queue, wanted, wait_seconds, lambda answer: _messages(queue, answer))


def ack_and_receive(
    receipts: Iterable[Message | str],
    queue: str,
    max_messages: int,
    visibility_timeout: float | None,
    consumer: str | None,
) -> Call[AckedAndReceived]:
    """What `ack` says of these handles, and up to `max_messages` further messages.

    Not repeated when its answer was lost: what it has received would be lost with it until the leases end.
    """
    handles = handles_of(receipts)
    wanted = _wanted(queue, max_messages, visibility_timeout, consumer)
    theirs = [apart(handle) for handle in handles]
    if others := {name for name, _ in theirs} - {queue}:
        raise InvalidArgument(
            f"receipts has handles of {', '.join(sorted(others))}: over HTTP one call is about one queue",
            field="receipts",
        )
    if not handles:
        return _receive(queue, wanted, 0.0, lambda answer: AckedAndReceived({}, _messages(queue, answer)))

    def read(answer: Answer) -> AckedAndReceived:
        return AckedAndReceived(acked(handles, answer.document["results"]), _messages(queue, answer))

    return Call(
        "POST",
        address("queues", queue, "messages", ":ack-and-receive"),
        read,
        document({"receiptHandles": given([handle for _, handle in theirs]), **wanted}),
        names.RECEIVE,
        repeatable=False,
        durations=RECEIVE,
    )


def _receive(queue: str, wanted: Mapping[str, str | None], wait_seconds: float, read: Callable[[Answer], T]) -> Call[T]:
    return Call(
        "POST",
        address("queues", queue, "messages", ":receive"),
        read,
        document(wanted),
        names.RECEIVE,
        wait_seconds=wait_seconds,
        durations=None if wait_seconds else RECEIVE,
    )


def _wanted(
    queue: str, max_messages: int, visibility_timeout: float | None, consumer: str | None
) -> dict[str, str | None]:
    checked = statements.receive(queue, max_messages, visibility_timeout, consumer, durable=True).parameters
    return {
        "maxMessages": given(checked["max_messages"]),
        "visibilityTimeoutSeconds": given(checked["visibility_timeout"]),
        "consumer": given(checked["consumer"]),
    }


def _messages(queue: str, answer: Answer) -> list[Message]:
    return [_message(queue, one) for one in answer.document["messages"]]


def _message(queue: str, wire: Mapping[str, Any]) -> Message:
    unreadable = Unreadable(**wire["unreadable"]) if wire.get("unreadable") else None
    return Message(
        id=int(wire["sequence"]),
        receipt_handle=with_queue(queue, wire["receiptHandle"]),
        receive_count=wire["receiveCount"],
        payload=unreadable if unreadable and unreadable.field == "payload" else wire["body"],
        attributes=wire["attributes"] or {},
        group_id=wire["messageGroupId"],
        priority=wire["priority"],
        sent_at=datetime.fromisoformat(wire["sentAt"]).astimezone(UTC),
        deadline=datetime.fromisoformat(wire["deadline"]).astimezone(UTC),
        lease_seconds=float(wire["leaseSeconds"]),
        state=wire["state"],
        unreadable=unreadable,
    )
