"""SendMessage and SendMessageBatch, by the sends of /v1."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from console.api.core import database
from console.api.sqs.call import Call
from console.api.sqs.errors import SqsError, invalid_parameter, invalid_value, missing, sqs_error_of
from console.api.sqs.messages import attributes, batches
from console.api.sqs.messages.message_ids import message_id_of, sequence_number_of
from console.api.sqs.queues.attributes import MAX_MESSAGE_BYTES
from console.api.sqs.queues.facts import SqsFacts, facts_of, queue_of
from signalbox import DeduplicationConflict
from signalbox.calls.sending import SendOptions

MAX_DELAY_SECONDS = 900
MAX_TRACE_HEADER = 512
NOT_OF_THIS_TYPE = "The request include parameter that is not valid for this queue type"
NOT_DEDUPLICATED = (
    "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
)

_ID = re.compile(r"[!-~]{1,128}")

Checked = tuple[str, SendOptions] | SqsError


async def send_message(call: Call) -> dict[str, Any]:
    """Send one message of SQS."""
    facts = await facts_of(await queue_of(call))
    body, options = checked(call, facts, call.given)
    try:
        number = await database.client().send(facts.name, body, **options)
    except DeduplicationConflict as error:
        number = _first_of(error)
    return sent(facts, call.given, number)


async def send_message_batch(call: Call) -> dict[str, Any]:
    """Send up to ten messages, each for itself."""
    facts = await facts_of(await queue_of(call))
    entries = batches.checked(call.given["Entries"], "SendMessageBatchRequestEntry")
    if facts.is_fifo:
        _check_names(facts, entries)
    read = [_checked_or_error(call, facts, entry) for entry in entries]
    _check_length(entries, read)
    valid = [one for one in read if not isinstance(one, Exception)]
    answers = iter(await database.client().send_each(facts.name, valid) if valid else [])
    results = [one if isinstance(one, Exception) else next(answers) for one in read]
    return batches.results(
        (entry, _refusal(result) or sent(facts, entry, _number(result)))
        for entry, result in zip(entries, results, strict=True)
    )


def sent(facts: SqsFacts, given: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the answer for a message that was sent, or sent before with the same deduplication id."""
    answer = {
        "MD5OfMessageBody": hashlib.md5(given["MessageBody"].encode(), usedforsecurity=False).hexdigest(),
        "MessageId": message_id_of(number),
    }
    for name in ("MessageAttributes", "MessageSystemAttributes"):
        if given.get(name):
            answer[f"MD5Of{name}"] = attributes.md5_of(given[name])
    if facts.is_fifo:
        answer["SequenceNumber"] = sequence_number_of(number)
    return answer


def checked(call: Call, facts: SqsFacts, given: Mapping[str, Any]) -> tuple[str, SendOptions]:
    """Return the payload and the options of a message. Raises `SqsError`."""
    body, own = given["MessageBody"], given.get("MessageAttributes", {})
    if not body:
        raise missing("MessageBody")
    if not attributes.is_valid_text(body):
        raise SqsError("InvalidMessageContents")
    attributes.check(own)
    _check_size(facts, len(body.encode()) + attributes.bytes_of(own))
    told = {"sender": call.sender_id, **_trace_header(call, given.get("MessageSystemAttributes", {}))}
    options: SendOptions = {"delay_seconds": _delay(facts, given.get("DelaySeconds"))}
    options |= _group(facts, given)
    if not facts.is_fifo and given.get("MessageDeduplicationId") is not None:
        raise invalid_value("MessageDeduplicationId", given["MessageDeduplicationId"], f"{NOT_OF_THIS_TYPE}.")
    if facts.is_fifo:
        told["deduplication_id"], options["deduplication_id"] = _deduplication(facts, given, body)
    options["attributes"] = attributes.to_engine(own, told)
    return body, options


def _check_size(facts: SqsFacts, size: int) -> None:
    if size > facts.max_bytes:
        raise invalid_parameter(
            f"One or more parameters are invalid. Reason: Message must be shorter than {facts.max_bytes} bytes."
        )


def _check_names(facts: SqsFacts, entries: list[dict[str, Any]]) -> None:
    """Refuse the whole batch if an entry lacks a group or a deduplication id, as SQS does."""
    for entry in entries:
        if "MessageGroupId" not in entry:
            raise invalid_parameter(missing("MessageGroupId").text)
        if "MessageDeduplicationId" not in entry and not facts.has("ContentBasedDeduplication"):
            raise invalid_parameter(NOT_DEDUPLICATED)


def _check_length(entries: list[dict[str, Any]], read: list[Checked]) -> None:
    size = sum(len(entry["MessageBody"].encode()) for entry in entries)
    size += sum(
        attributes.bytes_of(entry.get("MessageAttributes", {}))
        for entry, one in zip(entries, read, strict=True)
        if not isinstance(one, SqsError)  # a refused entry may have incomplete attributes
    )
    if size > MAX_MESSAGE_BYTES:
        raise SqsError("BatchRequestTooLong", limit=MAX_MESSAGE_BYTES, size=size)


def _trace_header(call: Call, given: Mapping[str, Any]) -> dict[str, str]:
    if not given:
        header = call.trace_header[:MAX_TRACE_HEADER]
        return {"trace_header": header} if header and attributes.is_valid_text(header) else {}
    unknown = next((name for name in given if name != attributes.TRACE_HEADER), None)
    if unknown is not None:
        raise invalid_parameter(
            f"Message system attribute name '{unknown[:100]}' is invalid: {attributes.TRACE_HEADER} is the only one."
        )
    attributes.check(given)
    header = given[attributes.TRACE_HEADER]
    if header["DataType"] != "String":
        raise invalid_parameter(f"Message system attribute '{attributes.TRACE_HEADER}' must be of the type String.")
    return {"trace_header": header["StringValue"]}


def _delay(facts: SqsFacts, seconds: int | None) -> float | None:
    if seconds is None:
        return None
    if not 0 <= seconds <= MAX_DELAY_SECONDS:
        raise invalid_value("DelaySeconds", seconds, f"DelaySeconds must be >= 0 and <= {MAX_DELAY_SECONDS}.")
    if facts.is_fifo and seconds:
        raise invalid_value("DelaySeconds", seconds, f"{NOT_OF_THIS_TYPE}.")
    return float(seconds)


def _group(facts: SqsFacts, given: Mapping[str, Any]) -> SendOptions:
    group_id = given.get("MessageGroupId")
    if group_id is None:
        if facts.is_fifo:
            raise missing("MessageGroupId")
        return {}
    _check_id("MessageGroupId", group_id)
    return {"group_id": group_id}


def _deduplication(facts: SqsFacts, given: Mapping[str, Any], body: str) -> tuple[str, str]:
    """Return the deduplication id of SQS, and that of the engine: with the group if the scope is messageGroup."""
    shown = given.get("MessageDeduplicationId")
    if shown is None:
        if not facts.has("ContentBasedDeduplication"):
            raise invalid_parameter(NOT_DEDUPLICATED)
        shown = hashlib.sha256(body.encode()).hexdigest()
    _check_id("MessageDeduplicationId", shown)
    if facts.attributes.get("DeduplicationScope") != "messageGroup":
        return shown, shown
    return shown, f"{hashlib.sha256(given['MessageGroupId'].encode()).hexdigest()[:32]} {shown}"


def _check_id(name: str, value: str) -> None:
    if not _ID.fullmatch(value):
        reason = f"{name} can only include alphanumeric and punctuation characters. 1 to 128 in length."
        raise invalid_value(name, value, reason)


def _checked_or_error(call: Call, facts: SqsFacts, entry: dict[str, Any]) -> Checked:
    try:
        return checked(call, facts, entry)
    except SqsError as error:
        return error


def _refusal(result: int | Exception) -> SqsError | None:
    if isinstance(result, int) or (isinstance(result, DeduplicationConflict) and result.first_message_id):
        return None
    return sqs_error_of(result)


def _number(result: int | Exception) -> int:
    return result if isinstance(result, int) else _first_of(result)


def _first_of(error: DeduplicationConflict) -> int:
    """Return the first message with the deduplication id: SQS answers a second send with the first message."""
    if error.first_message_id is None:
        raise error
    return error.first_message_id
