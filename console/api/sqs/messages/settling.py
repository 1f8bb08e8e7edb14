"""DeleteMessage and ChangeMessageVisibility, and their batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console.api.core import database
from console.api.queues.known_queues import KnownQueue
from console.api.sqs.call import Call
from console.api.sqs.errors import SqsError, invalid_value
from console.api.sqs.messages import batches
from console.api.sqs.messages.message_ids import Receipt, read_receipt
from console.api.sqs.messages.receiving import MAX_VISIBILITY_SECONDS
from console.api.sqs.messages.returning import give_back
from console.api.sqs.queues.facts import facts_of, queue_of
from signalbox.calls.settling import ack_returned


async def delete_message(call: Call) -> None:
    """Delete a message, also after its visibility timeout. Succeeds if it has ended or was received again."""
    known = await queue_of(call)
    receipt = _receipt(known, call.given["ReceiptHandle"])
    if not await database.client().ack(receipt.handle) and (error := await _stale(known, receipt)):
        raise error


async def delete_message_batch(call: Call) -> dict[str, Any]:
    """Delete up to ten messages."""
    known = await queue_of(call)
    entries = batches.checked(call.given["Entries"], "DeleteMessageBatchRequestEntry")
    receipts = [_receipt_or_error(known, entry["ReceiptHandle"]) for entry in entries]
    handles = list(dict.fromkeys(one.handle for one in receipts if isinstance(one, Receipt)))
    held = await database.client().ack_batch(handles) if handles else {}
    return batches.results(
        [(entry, await _deleted(known, one, held)) for entry, one in zip(entries, receipts, strict=True)]
    )


async def change_message_visibility(call: Call) -> None:
    """Change the end of a lease from now on; 0 returns the message to the queue."""
    known = await queue_of(call)
    seconds = _seconds(call.given["VisibilityTimeout"])
    receipt = _receipt(known, call.given["ReceiptHandle"])
    if not await _is_changed(known, receipt, seconds):
        raise await _not_in_flight(receipt)


async def change_message_visibility_batch(call: Call) -> dict[str, Any]:
    """Change the ends of up to ten leases."""
    known = await queue_of(call)
    entries = batches.checked(call.given["Entries"], "ChangeMessageVisibilityBatchRequestEntry")
    return batches.results([(entry, await _changed(known, entry)) for entry in entries])


async def _changed(known: KnownQueue, entry: dict[str, Any]) -> dict[str, Any] | SqsError:
    try:
        receipt = _receipt(known, entry["ReceiptHandle"])
        seconds = _seconds(entry.get("VisibilityTimeout", 0))
    except SqsError as error:
        return error
    return {} if await _is_changed(known, receipt, seconds) else await _not_in_flight(receipt)


async def _is_changed(known: KnownQueue, receipt: Receipt, seconds: float) -> bool:
    if seconds:
        return await database.client().change_visibility(receipt.handle, seconds) is not None
    return (await give_back(await facts_of(known), [receipt]))[receipt.handle]


def _receipt(known: KnownQueue, text: str) -> Receipt:
    receipt = read_receipt(text)
    if receipt is None or receipt.queue_id != known.queue_id:
        raise SqsError("ReceiptHandleIsInvalid", handle=text[:256])
    return receipt


def _receipt_or_error(known: KnownQueue, text: str) -> Receipt | SqsError:
    try:
        return _receipt(known, text)
    except SqsError as error:
        return error


def _seconds(given: int) -> float:
    if not 0 <= given <= MAX_VISIBILITY_SECONDS:
        raise invalid_value(
            "VisibilityTimeout", given, f"VisibilityTimeout must be an integer between 0 and {MAX_VISIBILITY_SECONDS}."
        )
    return float(given)


async def _deleted(
    known: KnownQueue, receipt: Receipt | SqsError, held: Mapping[str, bool]
) -> dict[str, Any] | SqsError:
    if isinstance(receipt, SqsError):
        return receipt
    return {} if held[receipt.handle] else await _stale(known, receipt) or {}


async def _stale(known: KnownQueue, receipt: Receipt) -> SqsError | None:
    """Delete by a handle whose lease has ended. SQS does so in standard queues; for FIFO queues, return its error."""
    if not (await facts_of(known)).is_fifo:
        await database.run(ack_returned(receipt.handle, receipt.receive_count))
    elif not await _has_ended(receipt):
        return invalid_value("ReceiptHandle", receipt.text, "The receipt handle has expired.")
    return None


async def _has_ended(receipt: Receipt) -> bool:
    outcome = await database.client().message_outcome(receipt.message_id)
    return outcome is None or outcome.outcome is not None


async def _not_in_flight(receipt: Receipt) -> SqsError:
    if await _has_ended(receipt):
        reason = "Message does not exist or is not available for visibility timeout change."
        return invalid_value("ReceiptHandle", receipt.text, reason)
    return SqsError("MessageNotInflight")
