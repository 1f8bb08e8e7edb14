"""The verbs from Django: the client over Django's own connection, so that a send joins the caller's transaction.

with transaction.atomic():
    order.save()
    messages.send("orders", {"order_id": order.pk})  # sent when the order is committed
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Unpack

from django.db import DEFAULT_DB_ALIAS, connections

from queues import bodies
from signalbox import Client, Message
from signalbox.calls.sending import BatchOptions, SendOptions
from signalbox.calls.settling import NackOptions
from signalbox.messages import AckedAndReceived, NackOutcome


def client(using: str = DEFAULT_DB_ALIAS) -> Client:
    """Make a client over this thread's Django connection: calls join its transaction and never commit it.

    Large bodies go to the storage that the settings name.
    """
    wrapper = connections[using]
    wrapper.ensure_connection()
    return Client(wrapper.connection, bodies=bodies.store())


def send(queue: str, payload: object, **options: Unpack[SendOptions]) -> int:
    """Send one message in the current transaction; returns its id."""
    return client().send(queue, payload, **options)


def send_batch(queue: str, payloads: Sequence[object], **options: Unpack[BatchOptions]) -> list[int]:
    """Send many in the current transaction, all or none; returns their ids in the order of the payloads."""
    return client().send_batch(queue, payloads, **options)


def receive(queue: str, max_messages: int = 1, **options: Any) -> list[Message]:
    """Receive up to `max_messages`; refused in a transaction, whose rollback would undo the count of deliveries."""
    return client().receive(queue, max_messages, **options)


def ack(receipts: Iterable[Message | str], *, results: Sequence[object] | None = None) -> dict[str, bool]:
    """Acknowledge messages in the current transaction; return for each receipt handle whether its lease was held."""
    return client().ack_batch(receipts, results=results)


def ack_and_receive(
    receipts: Iterable[Message | str], queue: str, max_messages: int = 1, **options: Any
) -> AckedAndReceived:
    """Acknowledge messages and receive the next ones in one call; refused in a transaction, as receive is."""
    return client().ack_and_receive(receipts, queue, max_messages, **options)


def nack(receipt: Message | str, **options: Unpack[NackOptions]) -> NackOutcome | None:
    """Report a failed delivery; return "retry", "dead", or None when the lease was no longer held."""
    return client().nack(receipt, **options)


def defer(receipt: Message | str, delay_seconds: float, *, state: object = None) -> datetime | None:
    """Put a message off without a failure; return when it is due, or None when the lease was no longer held."""
    return client().defer(receipt, delay_seconds, state=state)


def change_visibility(receipt: Message | str, seconds: float) -> datetime | None:
    """Let the lease end in this many seconds; return the deadline, or None when the lease was not held."""
    return client().change_visibility(receipt, seconds)


def purge(queue: str, **options: Any) -> int:
    """Do one step of a purge; return how many messages it removed. Call it until that is 0."""
    return client().purge(queue, **options)
