"""Deliveries that end at once, by a visibility timeout of 0: the message returns, or is dead after its last delivery.

The engine counts no failure when a message is returned. SQS counts each receive, so the last allowed one must end here.
"""

from __future__ import annotations

from collections.abc import Sequence

from console.api.core import database
from console.api.sqs.messages.message_ids import Receipt
from console.api.sqs.queues.facts import SqsFacts
from signalbox.calls.settling import NackOptions

LAST_DELIVERY: NackOptions = {
    "reason": "lock_expired",
    "error": "The last delivery ended by a visibility timeout of 0.",
}


async def give_back(facts: SqsFacts, receipts: Sequence[Receipt]) -> dict[str, bool]:
    """End these deliveries; return for each handle whether its lease was held."""
    over = [one.handle for one in receipts if one.receive_count >= facts.max_receives]
    others = [one.handle for one in receipts if one.receive_count < facts.max_receives]
    client = database.client()
    ended = await client.nack_batch([(handle, LAST_DELIVERY) for handle in over]) if over else []
    returned = await client.change_visibility_batch(others, 0) if others else {}
    held = {handle: outcome is not None for handle, outcome in zip(over, ended, strict=True)}
    return held | {handle: end is not None for handle, end in returned.items()}
