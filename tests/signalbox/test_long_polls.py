"""Receiving that waits: news end the wait, and each waiting connection takes a place that its tenant may refuse."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from signalbox import AsyncClient, Client, QuotaExceeded
from tests.races.sessions import finish, start, until

LONG = 600.0  # so that what ends a wait is never its own end


@pytest.fixture
def limited(client: Client, dsn: str) -> str:
    """A queue of a tenant that may have one long poll."""
    tenant = f"tenant-{uuid.uuid4().hex[:8]}"
    client.create_queue(f"{tenant}-queue", tenant=tenant)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("update signalbox.tenant set max_long_polls = 1 where name = %s", [tenant])
    return f"{tenant}-queue"


@pytest.fixture
def polls(dsn: str) -> Callable[[str], int]:
    """Number of long polls of a queue's tenant."""

    def count(queue: str) -> int:
        with psycopg.connect(dsn) as connection:
            row = connection.execute(
                "select signalbox.long_polls(tenant_id) from signalbox.queue where name = %s", [queue]
            ).fetchone()
        assert row is not None
        return int(row[0])

    return count


def test_a_wait_ends_with_a_message(dsn: str, client: Client, queue: str) -> None:
    with Client(dsn) as waiting:
        wait = start(waiting.receive, queue, wait_seconds=LONG)
        client.send(queue, "news")

        assert [message.payload for message in finish(wait)] == ["news"]


def test_what_is_there_already_is_not_waited_for(client: Client, limited: str, polls: Callable[[str], int]) -> None:
    client.send(limited, "there")

    assert client.receive(limited, wait_seconds=LONG)[0].payload == "there"
    assert polls(limited) == 0


def test_a_wait_without_news_ends_by_itself(client: Client, queue: str) -> None:
    assert client.receive(queue, wait_seconds=0.01) == []


def test_one_more_than_the_tenant_may_have_is_refused(
    dsn: str, client: Client, limited: str, polls: Callable[[str], int]
) -> None:
    with Client(dsn) as waiting, Client(dsn) as other:
        wait = start(waiting.receive, limited, wait_seconds=LONG)
        until(lambda: polls(limited) == 1, "a long poll")

        with pytest.raises(QuotaExceeded) as caught:
            other.receive(limited, wait_seconds=LONG)
        refusal = caught.value
        assert (refusal.reason, refusal.limit, refusal.retry_after) == ("long_polls", 1, 1)
        assert (refusal.field, refusal.scope) == ("max_long_polls", "tenant")
        assert other.receive(limited) == []  # looking is free

        client.send(limited, "news")
        assert len(finish(wait)) == 1
        assert polls(limited) == 0
        assert other.receive(limited, wait_seconds=0.01) == []


def test_a_connection_that_dies_gives_its_place_back(dsn: str, limited: str, polls: Callable[[str], int]) -> None:
    with psycopg.connect(dsn, autocommit=True) as waiting, psycopg.connect(dsn, autocommit=True) as killer:
        waiting.execute("select signalbox.begin_long_poll(%s)", [limited])
        assert polls(limited) == 1
        killer.execute("select pg_terminate_backend(%s)", [waiting.info.backend_pid])

        until(lambda: polls(limited) == 0, "the place of a dead connection")


def test_a_tenant_without_the_limit_takes_no_place(dsn: str, queue: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert connection.execute("select signalbox.begin_long_poll(%s)", [queue]).fetchone() == (None,)
        assert connection.execute("select signalbox.end_long_poll(%s, 1)", [queue]).fetchone() == (False,)


def test_a_pool_keeps_one_connection_for_the_wait(
    dsn: str, client: Client, limited: str, polls: Callable[[str], int]
) -> None:
    with ConnectionPool(dsn, min_size=2, max_size=2) as pool:
        wait = start(Client(pool).receive, limited, wait_seconds=LONG)
        until(lambda: polls(limited) == 1, "a long poll")
        client.send(limited, "news")

        assert len(finish(wait)) == 1
        assert polls(limited) == 0


def test_a_callers_connection_waits_too(dsn: str, limited: str, polls: Callable[[str], int]) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert Client(connection).receive(limited, wait_seconds=0.01) == []
        assert polls(limited) == 0


def test_the_asynchronous_client_waits_and_is_refused(
    dsn: str, client: Client, limited: str, polls: Callable[[str], int]
) -> None:
    async def wait() -> int:
        async with AsyncClient(dsn) as waiting:
            return len(await waiting.receive(limited, wait_seconds=LONG))

    async def be_refused() -> None:
        async with AsyncClient(dsn) as other:
            await other.receive(limited, wait_seconds=LONG)

    waiting = start(asyncio.run, wait())
    until(lambda: polls(limited) == 1, "a long poll")
    with pytest.raises(QuotaExceeded):
        asyncio.run(be_refused())
    client.send(limited, "news")

    assert finish(waiting) == 1
    assert polls(limited) == 0


def test_an_asynchronous_pool_waits(dsn: str, limited: str, polls: Callable[[str], int]) -> None:
    async def wait() -> int:
        async with AsyncConnectionPool(dsn, min_size=2, max_size=2) as pool:
            return len(await AsyncClient(pool).receive(limited, wait_seconds=0.01))

    assert asyncio.run(wait()) == 0
    assert polls(limited) == 0


def test_a_full_queue_is_a_typed_error(client: Client, make_queue: Callable[..., str]) -> None:
    queue = make_queue(max_backlog_messages=1)
    client.send(queue, "first")

    with pytest.raises(QuotaExceeded) as caught:
        client.send_batch(queue, ["second", "third"])

    refusal = caught.value
    assert (refusal.reason, refusal.limit, refusal.actual, refusal.retry_after) == ("backlog", 1, 3, None)
    assert (refusal.field, refusal.scope) == ("max_backlog_messages", "queue")
    assert "max_backlog_messages of queue" in str(refusal)
