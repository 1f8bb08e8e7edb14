"""Deliveries in answers, settlement of receipt handles, and the check that a handle belongs to the queue."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from console.access.api_keys import Key
from console.api.core import database
from console.api.core.problems import Problem
from console.api.core.responses import message_name, moment
from console.api.core.shape import HANDLE
from console.api.messages.shapes import REASONS, AckAndReceive, Defer, MessageOutcome, Nack
from console.api.queues.known_queues import KnownQueue, known_queue, queue_not_found, queue_of_its_own
from console.api.waiting import shared_hub
from queues import bodies
from signalbox import AsyncClient, BodyCorrupt, BodyMissing, Message, Unreadable
from signalbox.calls.settling import NackOptions
from signalbox.messages import AckedAndReceived, FailureReason, NackOutcome
from signalbox.payloads.binary import json_value

logger = logging.getLogger(__name__)


async def documents(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Convert deliveries into documents. If that fails, the messages return to the queue."""
    return [_document(message, payload) for message, payload in await with_payloads(messages)]


async def with_payloads(messages: Sequence[Message]) -> list[tuple[Message, Any]]:
    """Return deliveries with their payloads. If that fails, the messages return to the queue."""
    try:
        return await _readable(messages)
    except BaseException:
        shared_hub().give_back(list(messages))
        raise


async def _readable(messages: Sequence[Message]) -> list[tuple[Message, Any]]:
    """Return the messages with their payloads; a message whose large payload cannot be read gets a nack."""
    found = []
    for message in messages:
        try:
            found.append((message, await database.client().fetch(message)))
        except (BodyMissing, BodyCorrupt, OSError) as error:
            logger.warning("the payload of message %s cannot be read: %s", message.id, error)
            await database.client().nack(message, error_class=type(error).__name__, error=str(error))
    return found


def own_handle(queue: KnownQueue, handle: str, field: str = "receiptHandle") -> str:
    """Return the handle if it belongs to this queue. Raises `message-not-found` for a handle of another queue."""
    if not _HANDLE.fullmatch(handle):
        raise Problem.of_field(field, f"{field} is {handle[:80]!r}: this is not a receipt handle")
    if _queue_id(handle) != queue.queue_id:
        raise Problem("message-not-found", f"{field} is not of a message of the queue {queue.name!r}")
    return handle


def own_handles(queue: KnownQueue, handles: Sequence[str], field: str = "receiptHandles[{}]") -> list[str]:
    """Return the handles if all belong to this queue. `field` with the index of a handle is its name in errors."""
    return [own_handle(queue, handle, field.format(place)) for place, handle in enumerate(handles)]


async def ack_and_receive(queue: str, handles: list[str], wanted: AckAndReceive) -> AckedAndReceived:
    """Acknowledge and receive in one transaction: by one statement, or by two if the acknowledgements have results."""
    how = {"visibility_timeout": wanted.visibility_timeout_seconds, "consumer": wanted.consumer}
    if wanted.results is None:
        return await database.client().ack_and_receive(handles, queue, wanted.max_messages, **how)
    async with database.pool().connection() as connection, connection.transaction():
        client = AsyncClient(connection, bodies=bodies.store())
        held = await client.ack_batch(handles, results=wanted.results)
        messages = await client.receive(queue, wanted.max_messages, allow_open_transaction=True, **how)
    return AckedAndReceived(held, messages)


async def outcome_of(key: Key, name: str, within: KnownQueue | None = None) -> dict[str, Any]:
    """Return the state of a message in this queue, or in any queue that the key reaches. Raises `message-not-found`."""
    named = _MESSAGE_NAME.fullmatch(name)
    outcome = await database.client().message_outcome(int(named[1])) if named and int(named[1]) else None
    if outcome is None or not await _shows(key, outcome.queue, within):
        where = f" in the queue {within.name!r}" if within else ""
        raise Problem("message-not-found", f"Nothing is known of a message {name[:80]!r}{where}.")
    return MessageOutcome.of(
        outcome,
        message_id=message_name(outcome.message_id),
        sequence=outcome.message_id,
        state=outcome.status,
        result=None if isinstance(outcome.result, Unreadable) else outcome.result,
    )


async def _shows(key: Key, name: str, within: KnownQueue | None) -> bool:
    """Return whether the key may see messages of the queue `name`. A dead-letter queue also shows dead letters of
    others.
    """
    if within is None:
        queue = await known_queue(name)
        return queue is not None and queue.is_reached_by(key)
    sources = [source for source in within.sources if key.reaches(source, within.tenant)]
    return name in (within.name, within.called, *sources)


def lease_lost() -> Problem:
    """Return the problem of a handle whose lease has ended."""
    return Problem("lease-lost", "The lease is no longer held: nothing was done.")


def _document(message: Message, payload: Any) -> dict[str, Any]:
    unreadable = {"unreadable": message.unreadable.to_json()} if message.unreadable else {}
    return {
        "messageId": message_name(message.id),
        "sequence": message.id,
        "receiptHandle": message.receipt_handle,
        "receiveCount": message.receive_count,
        "body": None if isinstance(payload, Unreadable) else json_value(payload),
        "contentType": message.content_type,
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
_HANDLE = re.compile(HANDLE)


def _queue_id(handle: str) -> int:
    """Return the queue id with which a receipt handle begins. Ids of queues are never reused."""
    return int(handle.partition(".")[0])


async def check_still_received(
    authenticate: Callable[[], Awaitable[Key]], queue: KnownQueue, messages: Sequence[Message]
) -> None:
    """Repeat the checks of the request after a wait.

    If they fail now, the received messages return to the queue and the problem is raised. A request that received
    nothing is checked when it is sent again.
    """
    if not messages:
        return
    try:
        await queue_of_its_own(await authenticate(), queue.name)
        if any(_queue_id(message.receipt_handle) != queue.queue_id for message in messages):
            raise queue_not_found(queue.name)
    except BaseException:
        shared_hub().give_back(list(messages))
        raise


def nack_options(failure: Nack, within: str = "") -> NackOptions:
    """Return the options of the client's nack. A reason that the engine does not know becomes the error class."""
    known = failure.reason in REASONS
    if failure.reason and not known and failure.error_class:
        words = ", ".join(REASONS)
        raise Problem.of_field(f"{within}reason", f"{within}reason must be one of {words} beside an errorClass")
    return {
        "delay_seconds": failure.delay_seconds,
        "reason": cast("FailureReason", failure.reason) if known else "runtime_error",
        "error_class": failure.error_class or (None if known else failure.reason),
        "error": failure.error,
        "details": failure.details,
        "state": failure.state,
    }


def check_results(handles: list[str], results: list[Any] | None) -> None:
    """Check that results are either absent or one for each handle."""
    if results is not None and len(results) != len(handles):
        detail = f"results has {len(results)} entries for {len(handles)} receiptHandles"
        raise Problem.of_field("results", detail)


def acked(handles: Iterable[str], held: Mapping[str, bool]) -> list[dict[str, Any]]:
    """Return the results of acknowledged deliveries."""
    return [{"receiptHandle": handle, "status": "acked" if held[handle] else "lost"} for handle in handles]


def nacked(handles: Iterable[str], outcomes: Iterable[NackOutcome | None]) -> list[dict[str, Any]]:
    """Return the results of failed deliveries."""
    return [{"receiptHandle": h, "status": outcome or "lost"} for h, outcome in zip(handles, outcomes, strict=True)]


def deferred(handles: Iterable[str], times: Iterable[datetime | None]) -> list[dict[str, Any]]:
    """Return the results of deferred deliveries, each with the time at which the message is due."""
    return [
        {"receiptHandle": handle, "status": "deferred" if due_at else "lost", "dueAt": moment(due_at)}
        for handle, due_at in zip(handles, times, strict=True)
    ]


async def defer_all(handles: Sequence[str], deferrals: Sequence[Defer]) -> list[datetime | None]:
    """Defer the messages in one transaction, in the order of their ids, and return when each is due."""
    times: list[datetime | None] = [None] * len(handles)
    async with database.pool().connection() as connection, connection.transaction():
        client = AsyncClient(connection)
        for place in sorted(range(len(handles)), key=lambda place: _message_id(handles[place])):
            how = deferrals[place]
            times[place] = await client.defer(handles[place], how.delay_seconds, state=how.state)
    return times


def _message_id(handle: str) -> int:
    return int(handle.split(".")[1])


def changed(handles: Iterable[str], deadlines: Mapping[str, datetime | None]) -> list[dict[str, Any]]:
    """Return the results of changed leases, each with the new deadline."""
    return [
        {
            "receiptHandle": handle,
            "status": "changed" if (end := deadlines[handle]) else "lost",
            "deadline": moment(end),
        }
        for handle in handles
    ]
