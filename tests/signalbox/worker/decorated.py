"""An app of decorated handlers, for the workers under test."""

from __future__ import annotations

from signalbox import Message
from signalbox.worker import handles
from tests.signalbox.worker.handlers import note, record, wait_for_gate

handles("decorated-records", prefetch=3)(record)
handles("decorated-exports")(wait_for_gate)


@handles("decorated-orders", concurrency=2, keep_results=True)
def ship(message: Message) -> str:
    note(message, "shipped")
    return "shipped"


@handles("decorated-mail")
@handles("decorated-letters", task_timeout=60)
async def post(message: Message) -> None:
    note(message, "posted")
