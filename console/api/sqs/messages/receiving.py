"""ReceiveMessage: with a wait of up to 20 seconds in the hub of long polls that /v1 uses."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from console.api.core.disconnects import unless_gone
from console.api.messages.deliveries import check_still_received, with_payloads
from console.api.queues.known_queues import queue_of_its_own
from console.api.sqs.accounts import account_of
from console.api.sqs.call import Call
from console.api.sqs.errors import SqsError, invalid_value
from console.api.sqs.messages import attempts, attributes
from console.api.sqs.messages.message_ids import Receipt, message_id_of, receipt_of, sequence_number_of
from console.api.sqs.messages.returning import give_back
from console.api.sqs.queues.facts import SqsFacts, facts_of, queue_of
from console.api.waiting import shared_hub
from signalbox import Message
from signalbox.payloads.binary import json_value

MAX_MESSAGES = 10
MAX_WAIT_SECONDS = 20
MAX_VISIBILITY_SECONDS = 43_200
SHORTEST_CLAIM_SECONDS = 5.0
"""Lease of a receive with a visibility timeout of 0, which ends as soon as the messages are read."""

RELEASE_SECONDS = 0.05
"""Seconds that a receive without a wait leaves for upkeep to release groups, before an empty answer."""

MAX_FIRST_RECEIVES = 10_000
SYSTEM_NAMES = frozenset(
    {
        "All",
        "SenderId",
        "SentTimestamp",
        "ApproximateReceiveCount",
        "ApproximateFirstReceiveTimestamp",
        "SequenceNumber",
        "MessageDeduplicationId",
        "MessageGroupId",
        "AWSTraceHeader",
        "DeadLetterQueueSourceArn",
    }
)


async def receive_message(call: Call) -> dict[str, Any]:
    """Receive messages. An empty answer has no messages at all, as with SQS."""
    known = await queue_of(call)
    facts = await facts_of(await queue_of_its_own(call.key, known.name))
    names = _system_names(call.given)
    count, visibility, wait = _wishes(call, facts)
    messages = await _received(call, facts, count, visibility, wait)
    pairs = await with_payloads(messages)
    if visibility == 0 and messages:
        await give_back(facts, [Receipt(one.receipt_handle, one.receive_count) for one in messages])
    found = [await _document(call, facts, message, payload, names) for message, payload in pairs]
    return {"Messages": found} if found else {}


async def _received(call: Call, facts: SqsFacts, count: int, visibility: float | None, wait: float) -> list[Message]:
    attempt_id = call.given.get("ReceiveRequestAttemptId") if facts.is_fifo else None
    attempts.check(attempt_id)
    attempt = (call.key.key_id, facts.known.queue_id, attempt_id or "")
    if attempt_id and (messages := await attempts.repeated(attempt, visibility or facts.visibility_seconds)):
        return messages
    messages = await _claimed(call, facts, count, SHORTEST_CLAIM_SECONDS if visibility == 0 else visibility, wait)
    if attempt_id:
        attempts.remember(attempt, messages)
    return messages


async def _claimed(call: Call, facts: SqsFacts, count: int, lease: float | None, wait: float) -> list[Message]:
    hub = shared_hub()
    claim = partial(hub.receive, facts.name, count, lease, call.key.actor, wait, by_groups=facts.is_fifo)
    if not wait:
        return await (_claimed_beside_upkeep(claim) if facts.is_fifo else claim())
    call.waits()
    messages = await unless_gone(call, claim(), hub.give_back)
    await check_still_received(call.authenticate, facts.known, messages)
    return messages


async def _claimed_beside_upkeep(claim: Callable[[], Awaitable[list[Message]]]) -> list[Message]:
    """Claim, and claim again after RELEASE_SECONDS if nothing came: upkeep may be releasing messages of groups."""
    if messages := await claim():
        return messages
    await asyncio.sleep(RELEASE_SECONDS)
    return await claim()


def _wishes(call: Call, facts: SqsFacts) -> tuple[int, float | None, float]:
    """Return the number of messages, the visibility timeout and the wait that a call asks for."""
    given = call.given
    count = _within("MaxNumberOfMessages", given.get("MaxNumberOfMessages", 1), 1, MAX_MESSAGES)
    visibility = given.get("VisibilityTimeout")
    if visibility is not None:
        _within("VisibilityTimeout", visibility, 0, MAX_VISIBILITY_SECONDS)
    elif facts.visibility_seconds < 1:  # the queue's setting stores 0.1 for SQS's 0
        visibility = 0
    wait = given.get("WaitTimeSeconds", facts.wait_seconds)
    return count, visibility, _within("WaitTimeSeconds", wait, 0, MAX_WAIT_SECONDS)


def _within(name: str, value: Any, low: int, high: int) -> Any:
    if low <= value <= high:
        return value
    bounds = f"Must be between {low} and {high}" if low else f"Must be >= {low} and <= {high}"
    raise invalid_value(name, value, f"{bounds}, if provided.")


def _system_names(given: Mapping[str, Any]) -> set[str]:
    """Return the names of the system attributes that a call asks for."""
    names = {*given.get("AttributeNames", ()), *given.get("MessageSystemAttributeNames", ())}
    unknown = next((name for name in sorted(names) if name not in SYSTEM_NAMES), None)
    if unknown is not None:
        raise SqsError("InvalidAttributeName", name=unknown[:100])
    return names


async def _document(call: Call, facts: SqsFacts, message: Message, payload: Any, names: set[str]) -> dict[str, Any]:
    payload = json_value(payload)
    body = payload if isinstance(payload, str) else json.dumps(payload, separators=(",", ":"), ensure_ascii=False)
    own = attributes.chosen(attributes.from_engine(message.attributes), call.given.get("MessageAttributeNames", ()))
    document: dict[str, Any] = {
        "MessageId": message_id_of(message.sequence_number),
        "ReceiptHandle": receipt_of(message.receipt_handle, message.receive_count),
        "MD5OfBody": hashlib.md5(body.encode(), usedforsecurity=False).hexdigest(),
        "Body": body,
    }
    if system := _system_attributes(call, facts, message, names):
        document["Attributes"] = system
    if own:
        document |= {"MD5OfMessageAttributes": attributes.md5_of(own), "MessageAttributes": own}
    return document


def _system_attributes(call: Call, facts: SqsFacts, message: Message, names: set[str]) -> dict[str, str]:
    first_received_at = _first_received_at(message)
    if not names:
        return {}
    told, origin = attributes.facts_in(message.attributes), message.attributes.get("dead_letter")
    source = origin.get("queue") if isinstance(origin, dict) else None
    values = {
        "SenderId": told.get("sender") or account_of(facts.known.tenant),
        "SentTimestamp": _milliseconds(message.sent_at),
        "ApproximateReceiveCount": str(message.receive_count),
        "ApproximateFirstReceiveTimestamp": _milliseconds(first_received_at),
        "SequenceNumber": sequence_number_of(message.sequence_number) if facts.is_fifo else None,
        "MessageDeduplicationId": told.get("deduplication_id"),
        "MessageGroupId": message.group_id,
        "AWSTraceHeader": told.get("trace_header"),
        "DeadLetterQueueSourceArn": call.arn_of(source, facts.known.tenant) if source else None,
    }
    return {name: value for name, value in values.items() if value is not None and (name in names or "All" in names)}


def _first_received_at(message: Message) -> datetime:
    """Return the time of the first delivery that this process knows, by the database's clock: deadline minus lease."""
    at = message.deadline - timedelta(seconds=message.lease_seconds)
    if message.receive_count > 1:
        return _first_receives.get(message.id, at)
    _first_receives[message.id] = at
    while len(_first_receives) > MAX_FIRST_RECEIVES:
        _first_receives.popitem(last=False)
    return at


_first_receives: OrderedDict[int, datetime] = OrderedDict()


def _milliseconds(at: datetime) -> str:
    return str(int(at.timestamp() * 1000))
