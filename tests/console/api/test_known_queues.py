"""Queue names: one of many concurrent lookups asks the database, and a new queue is found at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from console.api.core.single_flight import SingleFlight
from console.api.queues import known_queues
from console.api.queues.known_queues import KnownQueue, known_queue

MANY = 100


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the queues that other tests have looked up."""
    monkeypatch.setattr(known_queues, "_known", {})


class Database:
    """Lookup that answers on command, and counts its calls."""

    def __init__(self) -> None:
        self.asked = 0
        self.queue: KnownQueue | None = KnownQueue(1, "orders", "acme", (), time.monotonic() + 3600)
        self.may_answer = asyncio.Event()

    async def look_up(self, name: str) -> KnownQueue | None:
        self.asked += 1
        answer = self.queue
        await self.may_answer.wait()
        return answer


def tell(monkeypatch: pytest.MonkeyPatch, story: Callable[[Database], Coroutine[Any, Any, None]]) -> None:
    async def answers() -> None:
        database = Database()
        monkeypatch.setattr(known_queues, "_look_up", database.look_up)
        monkeypatch.setattr(known_queues, "_lookups", SingleFlight(database.look_up))
        await story(database)

    asyncio.run(answers())


async def until_asked(database: Database, times: int) -> None:
    while database.asked < times:
        await asyncio.sleep(0)


def test_of_many_at_the_same_moment_one_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(database: Database) -> None:
        asking = [asyncio.create_task(known_queue("orders")) for _ in range(MANY)]
        await until_asked(database, 1)
        asking[0].cancel()  # the request that asked for all goes away
        database.may_answer.set()
        assert await asyncio.gather(*asking[1:]) == [database.queue] * (MANY - 1)
        assert database.asked == 1

    tell(monkeypatch, story)


def test_a_queue_made_after_others_asked_for_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(database: Database) -> None:
        made, database.queue = database.queue, None
        early = asyncio.create_task(known_queue("orders"))
        await until_asked(database, 1)
        database.queue = made
        late = asyncio.create_task(known_queue("orders"))
        await asyncio.sleep(0)
        database.may_answer.set()
        assert await early is None
        assert await late == made

    tell(monkeypatch, story)
