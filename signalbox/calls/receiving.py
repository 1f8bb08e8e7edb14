"""Receiving messages: receive, ack_and_receive, and the places of long polls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from signalbox import arguments
from signalbox.calls import wire_names
from signalbox.calls.call import Call, Function, Row, Wait, handles_of, only_value, statement
from signalbox.calls.request import (
    Answer,
    Request,
    Requests,
    address,
    document,
    given,
    queue_and_handle,
    waits,
    with_queue,
)
from signalbox.calls.settling import is_acked
from signalbox.connections.connections import check_claim
from signalbox.durations import RECEIVE
from signalbox.errors import InvalidArgument
from signalbox.messages import AckedAndReceived, Body, Message
from signalbox.payloads.binary import decoded
from signalbox.payloads.unreadable import Unreadable, decode_contents


def receive(
    queue: str,
    max_messages: int,
    visibility_timeout: float | None,
    consumer: str | None,
    durable: bool = True,
    allow_open_transaction: bool = False,
    wait_seconds: float = 0.0,
) -> Call[list[Message]]:
    """Lease up to `max_messages` messages to the caller; on an empty queue, wait for messages.

    A request whose answer was lost is repeated: messages that the first attempt leased come back when their leases end.
    """
    wait = Wait(arguments.seconds("wait_seconds", wait_seconds), queue=queue)

    def requests(claim: Mapping[str, Any]) -> Requests[list[Message]]:
        for seconds in waits(wait.seconds):
            members = _claim_members(claim) | {"waitSeconds": given(seconds)}
            answer = yield _request(
                queue, ":receive", members, wait_seconds=seconds, durations=None if seconds else RECEIVE
            )
            if messages := _messages_in(queue, answer):
                return messages
        return []

    claim = _claim(queue, max_messages, visibility_timeout, consumer) | {"durable": durable, "acknowledge": None}
    check = partial(check_claim, durable=durable, allow_open_transaction=allow_open_transaction)
    return Call(_RECEIVE, claim, _messages, requests, RECEIVE, check, wait)


def receive_groups(
    queue: str, max_messages: int, visibility_timeout: float | None, consumer: str | None
) -> Call[list[Message]]:
    """Lease messages of a FIFO queue, several of one group together and in order. The SQS endpoint uses this call."""
    claim = _claim(queue, max_messages, visibility_timeout, consumer)
    return Call(_RECEIVE_GROUPS, claim, _messages, durations=RECEIVE)


def ack_and_receive(
    receipts: Iterable[Message | str],
    queue: str,
    max_messages: int,
    visibility_timeout: float | None,
    consumer: str | None,
    allow_open_transaction: bool = False,
) -> Call[AckedAndReceived]:
    """Ack these deliveries and lease up to `max_messages` further messages.

    A request whose answer was lost is not repeated: messages that it leased are delivered again after their leases end.
    """
    handles = handles_of(receipts)

    def read(rows: list[Row]) -> AckedAndReceived:
        refused = {row[1] for row in rows if row[0] is None}
        return AckedAndReceived({handle: handle not in refused for handle in handles}, _messages(rows))

    claim = _claim(queue, max_messages, visibility_timeout, consumer) | {"durable": True, "acknowledge": handles}
    check = partial(check_claim, durable=True, allow_open_transaction=allow_open_transaction)
    return Call(_RECEIVE, claim, read, _request_ack_and_receive, RECEIVE, check)


def _claim(queue: str, max_messages: int, visibility_timeout: float | None, consumer: str | None) -> dict[str, Any]:
    return arguments.checked(
        queue=queue, max_messages=max_messages, visibility_timeout=visibility_timeout, consumer=consumer
    )


def _request_ack_and_receive(claim: Mapping[str, Any]) -> Requests[AckedAndReceived]:
    queue, handles = claim["queue"], claim["acknowledge"]
    named = [queue_and_handle(handle) for handle in handles]
    if others := {name for name, _ in named} - {queue}:
        raise InvalidArgument(
            f"receipts has handles of {', '.join(sorted(others))}: over HTTP one call is about one queue",
            field="receipts",
        )
    if not handles:
        answer = yield _request(queue, ":receive", _claim_members(claim))
        return AckedAndReceived({}, _messages_in(queue, answer))
    members = {"receiptHandles": given([handle for _, handle in named])} | _claim_members(claim)
    answer = yield _request(queue, ":ack-and-receive", members, repeatable=False)
    acked = dict(zip(handles, map(is_acked, answer.document["results"]), strict=True))
    return AckedAndReceived(acked, _messages_in(queue, answer))


#: Takes a place among the long polls of the queue's tenant; None where the tenant has no limit.
begin_long_poll: Function[int | None] = Function("begin_long_poll", "queue text", only_value)
#: Gives back the place of a long poll; False when this connection did not have it.
end_long_poll: Function[bool] = Function("end_long_poll", "queue text, place int", only_value)

_TERMS = "queue text, max_messages int, visibility_timeout double precision, consumer text"
_DELIVERY = (
    "message_id, receipt_handle, receive_count, payload::text, attributes::text, group_id, priority, sent_at, deadline,"
    " state::text, body::text, extract(epoch from deadline - clock_timestamp())::double precision"
)
_RECEIVE = statement("receive", f"{_TERMS}, durable boolean, acknowledge text[]", _DELIVERY)
_RECEIVE_GROUPS = statement("receive_groups", _TERMS, _DELIVERY)


def _messages(rows: list[Row]) -> list[Message]:
    """Read the deliveries; a row without a message names a handle whose lease was no longer held."""
    return [_message(row) for row in rows if row[0] is not None]


def _message(row: Row) -> Message:
    message_id, receipt_handle, receive_count, payload, attributes, *others = row
    group_id, priority, sent_at, deadline, state, body, lease_seconds = others
    contents = decode_contents(payload, attributes, state)
    return Message(
        id=message_id,
        receipt_handle=receipt_handle,
        receive_count=receive_count,
        payload=contents.payload,
        attributes=contents.attributes,
        group_id=group_id,
        priority=priority,
        sent_at=sent_at.astimezone(UTC),
        deadline=deadline.astimezone(UTC),
        lease_seconds=lease_seconds,
        state=contents.state,
        body=Body(**json.loads(body)) if body else None,
        unreadable=contents.unreadable,
    )


def _request(queue: str, verb: str, members: Mapping[str, str | None], **options: Any) -> Request:
    path = address("queues", queue, "messages", verb)
    return Request("POST", path, document(members), wire_names.RECEIVE, **{"durations": RECEIVE} | options)


def _claim_members(parameters: Mapping[str, Any]) -> dict[str, str | None]:
    names = {"max_messages": "maxMessages", "visibility_timeout": "visibilityTimeoutSeconds", "consumer": "consumer"}
    return {wire: given(parameters[name]) for name, wire in names.items()}


def _messages_in(queue: str, answer: Answer) -> list[Message]:
    return [_message_in(queue, wire) for wire in answer.document["messages"]]


def _message_in(queue: str, wire: Mapping[str, Any]) -> Message:
    unreadable = Unreadable(**wire["unreadable"]) if wire.get("unreadable") else None
    attributes = wire["attributes"] or {}
    return Message(
        id=int(wire["sequence"]),
        receipt_handle=with_queue(queue, wire["receiptHandle"]),
        receive_count=wire["receiveCount"],
        payload=unreadable if unreadable and unreadable.field == "payload" else decoded(wire["body"], attributes),
        attributes=attributes,
        group_id=wire["messageGroupId"],
        priority=wire["priority"],
        sent_at=datetime.fromisoformat(wire["sentAt"]).astimezone(UTC),
        deadline=datetime.fromisoformat(wire["deadline"]).astimezone(UTC),
        lease_seconds=float(wire["leaseSeconds"]),
        state=wire["state"],
        unreadable=unreadable,
    )
