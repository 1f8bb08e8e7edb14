"""A hub over a pool of its own, in a loop of its own; and clients that let a test step in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool

from console.api.waiting.hub import Hub
from signalbox import AsyncClient, Message

PATIENCE_SECONDS = 90.0

#: Longer than any test: who waits so long is ended by something else.
LONG = 80.0

#: The pool's connections, by the name under which they are seen.
POOL_NAME = "pool of a hub under test"
CONNECTIONS = {"autocommit": True, "application_name": POOL_NAME}


class NotingClient(AsyncClient):
    """Counts its claims, and keeps the answer of one that has messages until the gate is open."""

    def __init__(self, source: Any) -> None:
        super().__init__(source)
        self.claims = 0
        self.claimed = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def receive(self, *arguments: Any, **options: Any) -> list[Message]:
        messages = await super().receive(*arguments, **options)
        self.claims += 1
        if messages:
            self.claimed.set()
            await self.gate.wait()
        return messages


class TestedHub(Hub):
    """Counts the polls that wait and the statements that look around, and knows its client."""

    __test__ = False

    def __init__(self, client: NotingClient, pool: Any, dsn: Any) -> None:
        super().__init__(client, pool, dsn)
        self.client = client
        self.asked: list[str] = []

    @property
    def waiting(self) -> int:
        """Number of polls that wait."""
        return sum(len(line) for line in self._lines.values())

    async def _ask(self, statement: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        self.asked.append(statement)
        return await super()._ask(statement, parameters)


@asynccontextmanager
async def hub_over(dsn: str) -> AsyncIterator[TestedHub]:
    """A hub, closed at the end."""

    async def where() -> str:
        return dsn

    async with AsyncConnectionPool(dsn, min_size=1, max_size=4, kwargs=CONNECTIONS) as pool:
        hub = TestedHub(NotingClient(pool), pool, where)
        try:
            yield hub
        finally:
            hub.client.gate.set()
            await hub.close()


def with_hub(dsn: str, story: Callable[[TestedHub], Coroutine[Any, Any, None]]) -> None:
    """Tell the story in a loop of its own."""

    async def tell() -> None:
        async with hub_over(dsn) as hub:
            await story(hub)

    asyncio.run(tell())


async def until(condition: Callable[[], Any], what: str) -> Any:
    """Repeat until the condition holds, and let other tasks run in between."""
    ends_at = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    while not (answer := condition()):
        assert asyncio.get_running_loop().time() < ends_at, f"never came: {what}"
        await asyncio.sleep(0.005)
    return answer


def start(hub: Hub, queue: str, *arguments: Any, wait_seconds: float = LONG, **options: Any) -> asyncio.Task[Any]:
    """A poll that waits."""
    return asyncio.create_task(hub.receive(queue, *arguments, wait_seconds=wait_seconds, **options))


def announced(observer: psycopg.Connection[Any], change: Callable[[], Any]) -> Any:
    """Make a change and announce it, as upkeep does after the commit."""
    row = observer.execute("select pg_current_snapshot()").fetchone()
    done = change()
    observer.execute("select signalbox.announce(%s)", [row[0] if row else None])
    return done
