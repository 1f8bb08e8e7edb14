"""The stream of the demo. The group billing keeps up with it; the group analytics pauses and catches up. Two
groups send what their filters select to queues.

`python -m console.demo.streams`
"""

from __future__ import annotations

import asyncio
import itertools
import random
import uuid
from dataclasses import dataclass

import django
import psycopg

STREAM, TENANT = "order-events", "acme"
SETTINGS = {"partitions": 4, "retention_seconds": 86_400, "alert_group_lag_seconds": 60}
APPENDED_PER_SECOND = 8.0
EVENTS = ("order.placed", "order.paid", "order.shipped", "order.returned")


@dataclass(frozen=True)
class Reader:
    """A consumer of a group, with the seconds for which it reads and pauses. It commits what it has read."""

    group: str
    member: str
    reads_seconds: float
    rests_seconds: float = 0.0
    batch: int = 50


READERS = (
    Reader("billing", "billing-1", 30.0),
    Reader("billing", "billing-2", 30.0),
    Reader("analytics", "analytics-1", 40.0, rests_seconds=100.0, batch=200),
)
FEEDS = {"returns": "payload.event:order.returned", "loyalty-points": "payload.event:order.paid"}
"""The queues that the stream feeds, each by a group with this filter."""


def build() -> None:
    """Create the stream and its consumer groups, or keep those of an earlier run."""
    from queues.control import streams

    streams.create_stream(STREAM, SETTINGS, tenant=TENANT, actor="demo")
    for group in dict.fromkeys(reader.group for reader in READERS):
        streams.create_group(STREAM, group, point="beginning", actor="demo")
    for queue, text in FEEDS.items():
        streams.create_group(STREAM, f"to-{queue}", queue=queue, actor="demo")
        streams.configure_group(STREAM, f"to-{queue}", {"filter": text}, actor="demo")


def run() -> None:
    """Append and read until the process is stopped."""
    django.setup()
    from queues.database.connections import dsn

    asyncio.run(_all(dsn()))


async def _all(dsn: str) -> None:
    await asyncio.gather(_append(dsn), *(_read(dsn, reader) for reader in READERS))


async def _append(dsn: str) -> None:
    from signalbox import AsyncClient

    client = AsyncClient(dsn)
    for number in itertools.count(1):
        await asyncio.sleep(random.expovariate(APPENDED_PER_SECOND))
        customer = f"customer-{random.randint(1, 200)}"
        event = {"event": random.choice(EVENTS), "customer": customer, "order_id": number, "id": uuid.uuid4().hex}
        try:
            await client.append(STREAM, event, key=customer)
        except psycopg.OperationalError:
            await asyncio.sleep(1)  # the database restarts; a real sender would try again too


async def _read(dsn: str, reader: Reader) -> None:
    from signalbox import AsyncClient

    client, loop = AsyncClient(dsn), asyncio.get_running_loop()
    while True:
        rest_at = loop.time() + reader.reads_seconds
        while loop.time() < rest_at:
            try:
                messages = await client.read_stream(STREAM, reader.group, reader.member, reader.batch)
                await asyncio.sleep(0.1 if messages else 0.5)  # the work
                await client.commit_messages(STREAM, reader.group, reader.member, messages)
            except psycopg.OperationalError:
                await asyncio.sleep(1)
        await asyncio.sleep(reader.rests_seconds)


if __name__ == "__main__":
    run()
