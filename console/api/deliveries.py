"""Deliveries on the wire, and whose receipt handles are whose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from console.api import database
from console.api.answers import message_name, moment
from console.api.known_queues import KnownQueue
from console.api.problems import Problem
from signalbox import Message


async def documents(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The deliveries as they go over the wire."""
    return [_document(message, await database.client().fetch(message)) for message in messages]


def own_handle(queue: KnownQueue, handle: str, field: str = "receiptHandle") -> str:
    """The handle, if it is of this queue. Raises a problem: one of another queue is not found."""
    found = _HANDLE.fullmatch(handle)
    if not found:
        raise Problem.of_field(field, f"{field} is {handle[:80]!r}: this is not a receipt handle")
    if int(found[1]) != queue.queue_id:
        raise Problem("message-not-found", f"{field} is not of a message of the queue {queue.name!r}")
    return handle


def lease_lost() -> Problem:
    """The handle is of a lease that has ended."""
    return Problem("lease-lost", "The lease is no longer held: nothing was done.")


def _document(message: Message, payload: Any) -> dict[str, Any]:
    return {
        "messageId": message_name(message.id),
        "sequence": message.id,
        "receiptHandle": message.receipt_handle,
        "receiveCount": message.receive_count,
        "body": payload,
        "attributes": message.attributes,
        "messageGroupId": message.group_id,
        "priority": message.priority,
        "sentAt": moment(message.sent_at),
        "deadline": moment(message.deadline),
        "leaseSeconds": message.lease_seconds,
        "state": message.state,
        "traceId": message.trace_id,
        "correlationId": message.correlation_id,
    }


_HANDLE = re.compile(r"(\d{1,9})\.\d{1,18}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
