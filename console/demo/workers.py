"""Workers of the demo, one for each queue that has a handler, and the handlers, which sleep in place of work.

All failures of the demo are raised in this module. The clock decides whether a partner is down, so that a redrive after
the outage succeeds. `python -m console.demo.workers` runs all workers in one process.
"""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

import django

from signalbox import Message
from signalbox.worker import Defer, Reject, Worker, worker

OUTAGE_EVERY_SECONDS = 300
OUTAGE_SECONDS = 75


def run() -> None:
    """Work until SIGTERM or SIGINT."""
    django.setup()
    from console.demo import cells
    from console.demo.scenery import FED, QUEUES
    from queues.database.connections import dsn

    address, fleet = dsn(), cells.address()
    workers = [
        Worker(
            address,
            queue.name,
            f"console.demo.workers:{queue.handler}",
            concurrency=queue.concurrency,
            task_timeout=30,
            stop_grace=3,
        )
        for queue in (*QUEUES, *FED)
        if queue.handler
    ]
    if fleet:
        workers.append(Worker(fleet, cells.QUEUE, "console.demo.workers:page_views", concurrency=4, stop_grace=3))
    worker.run(workers)


class CardDeclined(Exception):  # noqa: N818 - the domain's word
    """The issuer declined the card."""


class GatewayError(Exception):
    """The payment gateway answered with an error of its own."""


class PartnerTimeout(TimeoutError):  # noqa: N818 - the domain's word
    """The partner did not answer in time."""


class CorruptImageError(ValueError):
    """The image cannot be decoded."""


def partner_is_down(now: float | None = None) -> bool:
    """Return whether the partner of webhooks-out is down: OUTAGE_SECONDS out of every OUTAGE_EVERY_SECONDS."""
    return (time.time() if now is None else now) % OUTAGE_EVERY_SECONDS < OUTAGE_SECONDS


async def orders_created(message: Message) -> None:
    await _work(0.02, 0.15)


async def payments_capture(message: Message) -> None:
    payment = message.payload
    await _work(0.1, 0.6)
    draw = random.random()
    if draw < 0.03:
        try:
            _charge(payment)
        except CardDeclined as declined:
            raise Reject(str(declined)) from declined
    if draw < 0.10:
        raise GatewayError(f"502 Bad gateway from psp-{random.randint(1, 3)} after {random.randint(900, 2400)} ms")


async def email_send(message: Message) -> None:
    await _work(0.1, 0.5)
    if "@" not in message.payload["to"]:
        raise Reject(f"address {message.payload['to']!r} has no domain")


async def thumbnails(message: Message) -> None:
    await _work(0.2, 0.9)
    _decode(message.payload)


async def webhooks_out(message: Message) -> None:
    await _work(0.05, 0.4)
    if partner_is_down() and message.payload["endpoint"].startswith("https://eu."):
        raise PartnerTimeout(f"POST {message.payload['endpoint']} timed out after {random.randint(5000, 5100)} ms")


async def search_index(message: Message) -> None:
    await _work(0.01, 0.08)
    document = message.payload["document"]
    document["customer_id"].strip()


async def reminders(message: Message) -> None:
    await _work(0.05, 0.2)


async def invoices_pdf(message: Message) -> None:
    await _work(0.5, 1.5)


def shipments(message: Message) -> None:
    """Ship an order. A parcel in five is not packed yet: its message is deferred, and its group waits."""
    from console.demo.shipments import note

    order = message.payload
    if message.state is None and random.random() < 0.2:
        note(order["order_id"], order["company"], "packing")
        raise Defer(random.uniform(5, 20), state={"status": "packing"})
    note(order["order_id"], order["company"], "shipped")


async def large_orders(message: Message) -> None:
    await _work(0.1, 0.3)


async def page_views(message: Message) -> None:
    await _work(0.01, 0.1)


async def returns(message: Message) -> None:
    await _work(0.2, 0.6)


async def loyalty_points(message: Message) -> None:
    await _work(0.02, 0.1)


async def _work(low_seconds: float, high_seconds: float) -> None:
    await asyncio.sleep(random.uniform(low_seconds, high_seconds))


def _charge(payment: dict[str, Any]) -> None:
    raise CardDeclined(f"issuer declined card ending {payment['card']}: code {random.choice((5, 14, 51, 54))}")


def _decode(image: dict[str, Any]) -> None:
    """Raise CorruptImageError for an image of 0 bytes, so that its message fails at every delivery."""
    if image.get("bytes", 1) == 0:
        raise CorruptImageError(f"cannot identify image {image['key']!r}: 0 bytes")


if __name__ == "__main__":
    run()
