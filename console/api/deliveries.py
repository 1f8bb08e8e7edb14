"""Deliveries on the wire, and whose receipt handles are whose."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

from console.api import database
from console.api.answers import message_name, moment
from console.api.known_queues import KnownQueue, known_queue
from console.api.problems import Problem
from console.api.waiting import give_back
from console.api.wire.settling import AckAndReceive
from console.api_keys import Key
from queues import bodies
from signalbox import AsyncClient, BodyCorrupt, BodyMissing, Message, Outcome, Unreadable
from signalbox.messages import AckedAndReceived

logger = logging.getLogger(__name__)


async def documents(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The deliveries as they go over the wire. If that cannot be done, nobody gets them here, and they go back."""
    try:
        return await _readable(messages)
    except BaseException:
        give_back(list(messages))
        raise


async def _readable(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """All but those whose large payload cannot be read: these fail at once."""
    found = []
    for message in messages:
        try:
            found.append(_document(message, await database.client().fetch(message)))
        except (BodyMissing, BodyCorrupt, OSError) as error:
            logger.warning("the payload of message %s cannot be read: %s", message.id, error)
            await database.client().nack(message, error_class=type(error).__name__, error=str(error))
    return found


def own_handle(queue: KnownQueue, handle: str, field: str = "receiptHandle") -> str:
    """The handle, if it is of this queue. Raises a problem: one of another queue is not found."""
    found = _HANDLE.fullmatch(handle)
    if not found:
        raise Problem.of_field(field, f"{field} is {handle[:80]!r}: this is not a receipt handle")
    if int(found[1]) != queue.queue_id:
        raise Problem("message-not-found", f"{field} is not of a message of the queue {queue.name!r}")
    return handle


def own_handles(queue: KnownQueue, handles: Sequence[str], field: str = "receiptHandles[{}]") -> list[str]:
    """The handles, if all are of this queue; `field` names the place of one."""
    return [own_handle(queue, handle, field.format(place)) for place, handle in enumerate(handles)]


async def ack_and_receive(queue: str, handles: list[str], wanted: AckAndReceive) -> AckedAndReceived:
    """Both in one commit; results go along only in two statements."""
    how = {"visibility_timeout": wanted.visibility_timeout_seconds, "consumer": wanted.consumer}
    if wanted.results is None:
        return await database.client().ack_and_receive(handles, queue, wanted.max_messages, **how)
    async with database.pool().connection() as connection, connection.transaction():
        client = AsyncClient(connection, bodies=bodies.store())
        held = await client.ack_batch(handles, results=wanted.results)
        messages = await client.receive(queue, wanted.max_messages, allow_open_transaction=True, **how)
    return AckedAndReceived(held, messages)


async def outcome_in(key: Key, queue: KnownQueue, message_name_given: str) -> dict[str, Any]:
    """Where a message of this queue stands, or one that died and is kept here. Raises `message-not-found`."""
    outcome = await _outcome(message_name_given)
    sources = [name for name in queue.sources if key.reaches(name, queue.tenant)]
    if outcome is None or outcome.queue not in (queue.name, queue.called, *sources):
        detail = f"Nothing is known of a message {message_name_given[:80]!r} in the queue {queue.name!r}."
        raise Problem("message-not-found", detail)
    return _outcome_document(outcome)


async def outcome_for(key: Key, message_name_given: str) -> dict[str, Any]:
    """Where a message stands, of whatever queue this key reaches. Raises `message-not-found`."""
    outcome = await _outcome(message_name_given)
    queue = await known_queue(outcome.queue) if outcome is not None else None
    if outcome is None or queue is None or not queue.is_reached_by(key):
        raise Problem("message-not-found", f"Nothing is known of a message {message_name_given[:80]!r}.")
    return _outcome_document(outcome)


async def _outcome(message_name_given: str) -> Outcome | None:
    named = _MESSAGE_NAME.fullmatch(message_name_given)
    return await database.client().message_outcome(int(named[1])) if named and int(named[1]) else None


def _outcome_document(outcome: Outcome) -> dict[str, Any]:
    return {
        "messageId": message_name(outcome.message_id),
        "sequence": outcome.message_id,
        "queue": outcome.queue,
        "state": outcome.status,
        "outcome": outcome.outcome,
        "receiveCount": outcome.receive_count,
        "settledAt": moment(outcome.settled_at),
        "result": None if isinstance(outcome.result, Unreadable) else outcome.result,
    }


def lease_lost() -> Problem:
    """The handle is of a lease that has ended."""
    return Problem("lease-lost", "The lease is no longer held: nothing was done.")


def _document(message: Message, payload: Any) -> dict[str, Any]:
    unreadable = {"unreadable": message.unreadable.to_json()} if message.unreadable else {}
    return {
        "messageId": message_name(message.id),
        "sequence": message.id,
        "receiptHandle": message.receipt_handle,
        "receiveCount": message.receive_count,
        "body": None if isinstance(payload, Unreadable) else payload,
        "attributes": message.attributes,
        "messageGroupId": message.group_id,
        "priority": message.priority,
        "sentAt": moment(message.sent_at),
        "deadline": moment(message.deadline),
        "leaseSeconds": message.lease_seconds,
        "state": message.state,
        "traceId": message.trace_id,
        "correlationId": message.correlation_id,
        **unreadable,
    }


_MESSAGE_NAME = re.compile(r"msg_([0-9]{1,18})")
_HANDLE = re.compile(r"([0-9]{1,9})\.[0-9]{1,18}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
