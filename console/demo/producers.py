"""Senders of the demo: messages for every queue at an uneven rate. Run `python -m console.demo.producers`."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import django
import psycopg

from signalbox import AsyncClient, QuotaExceeded
from signalbox.connections.unavailable import Unavailable
from signalbox.fleet.async_client import AsyncFleetClient
from signalbox.fleet.map import is_fleet, seed_of

ASKS_EVERY_SECONDS = 20.0
COMPANIES = ("acme-eu", "acme-us", "umbrella", "hooli", "stark", "wayne")


def run() -> None:
    """Send until the process is stopped."""
    django.setup()
    from console.demo import beat, callers, cells
    from console.demo.scenery import QUEUES
    from console.environment import env_text
    from queues.database.connections import dsn

    here, fleet = dsn(), cells.address()
    senders = [(queue.name, queue.sent_per_second, here) for queue in QUEUES]
    if fleet:
        senders.append((cells.QUEUE, cells.SENT_PER_SECOND, fleet))
    beat.start()
    calls = callers.call(env_text(callers.KEY_VARIABLE, ""))
    asyncio.run(_send_all(senders, here, calls))


async def _send_all(senders: list[tuple[str, float, str]], here: str, calls: Coroutine[Any, Any, None]) -> None:
    await asyncio.gather(calls, _ask_for_a_queue(here), *(_send(*sender) for sender in senders))


async def _send(queue: str, per_second: float, url: str) -> None:
    client = _client(url)
    while True:
        await asyncio.sleep(random.expovariate(per_second))
        payload, options = MESSAGES[queue]()
        try:
            await client.send(queue, payload, trace_id=uuid.uuid4().hex, **options)
        except QuotaExceeded:
            continue  # the console counts the refusal; a real sender would try again later
        except (psycopg.OperationalError, Unavailable):
            await asyncio.sleep(1)  # the database restarts; a real sender would retry too


async def _ask_for_a_queue(url: str) -> None:
    """Try to create a queue every ASKS_EVERY_SECONDS; the quota of the tenant refuses it."""
    client = AsyncClient(url)
    while True:
        with suppress(QuotaExceeded, psycopg.OperationalError, Unavailable):
            await client.create_queue("ledger-archive", tenant="initech")
        await asyncio.sleep(ASKS_EVERY_SECONDS)


def _client(url: str) -> AsyncClient | AsyncFleetClient:
    return AsyncFleetClient(seed_of(url)) if is_fleet(url) else AsyncClient(url)


def order() -> tuple[Any, dict[str, Any]]:
    total = round(random.uniform(5, 900), 2)
    return {
        "order_id": random.randint(10_000, 99_999),
        "company": random.choice(COMPANIES),
        "lines": [
            {"sku": f"SKU-{random.randint(100, 999)}", "quantity": random.randint(1, 5)}
            for _ in range(random.randint(1, 4))
        ],
        "total": {"amount": total, "currency": "EUR"},
    }, {"group_id": random.choice(COMPANIES)}


def payment() -> tuple[Any, dict[str, Any]]:
    number = random.randint(10_000, 99_999)
    return {
        "payment_id": f"pay_{uuid.uuid4().hex[:12]}",
        "order_id": number,
        "card": f"{random.randint(0, 9999):04d}",
        "amount": {"value": round(random.uniform(5, 900), 2), "currency": "EUR"},
    }, {"deduplication_id": f"capture-{number}-{uuid.uuid4().hex[:6]}"}


def email() -> tuple[Any, dict[str, Any]]:
    kind, priority = random.choice(
        (("receipt", 5), ("password-reset", 9), ("newsletter", 0), ("newsletter", 0), ("digest", 2))
    )
    address = f"user{random.randint(1, 500)}@example.org" if random.random() > 0.004 else "nobody-at-all"
    return {"to": address, "template": kind, "subject": f"<{kind}> for you & yours"}, {"priority": priority}


def image() -> tuple[Any, dict[str, Any]]:
    poison = random.random() < 0.03
    return {
        "key": f"uploads/{uuid.uuid4().hex[:10]}.jpg",
        "bytes": 0 if poison else random.randint(20_000, 4_000_000),
        "sizes": [64, 256, 1024],
    }, {"attributes": {"camera": random.choice(("phone", "scanner"))}}


def webhook() -> tuple[Any, dict[str, Any]]:
    region = random.choice(("eu", "us", "eu"))
    return {
        "endpoint": f"https://{region}.partner.example/hooks",
        "event": random.choice(("order.paid", "order.shipped", "order.refunded")),
        "partner": random.choice(COMPANIES),
    }, {"attributes": {"region": region}, "group_id": f"{region}.partner.example"}


def document() -> tuple[Any, dict[str, Any]]:
    fields: dict[str, Any] = {"title": f"Item {random.randint(1, 9999)}", "customer_id": f"c{random.randint(1, 999)}"}
    if random.random() < 0.002:
        del fields["customer_id"]
    return {"index": "items", "document": fields}, {}


def reminder() -> tuple[Any, dict[str, Any]]:
    return {"cart_id": random.randint(1, 9999), "kind": "abandoned-cart"}, {"delay_seconds": random.uniform(20, 120)}


def ledger_entry() -> tuple[Any, dict[str, Any]]:
    return {"entry": random.randint(1, 10**6), "book": random.choice(("sales", "refunds"))}, {}


def page_view() -> tuple[Any, dict[str, Any]]:
    path = random.choice(("/", "/cart", "/search", "/product"))
    return {"path": path, "milliseconds": random.randint(20, 900)}, {"group_id": f"visitor-{random.randint(1, 1000)}"}


def invoice() -> tuple[Any, dict[str, Any]]:
    return {"invoice": f"INV-{random.randint(1000, 9999)}", "pages": random.randint(1, 6)}, {}


MESSAGES: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
    "orders-created": order,
    "payments-capture": payment,
    "email-send": email,
    "thumbnails": image,
    "webhooks-out": webhook,
    "search-index": document,
    "reminders": reminder,
    "ledger-export": ledger_entry,
    "invoices-pdf": invoice,
    "page-views": page_view,
}
"""What each queue receives: a payload, and options of send."""

if __name__ == "__main__":
    run()
