"""The asynchronous client: the same verbs, and nothing that the synchronous one has not."""

from __future__ import annotations

import asyncio
import inspect

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from signalbox import AsyncClient, Client, OpenTransaction, QueueNotFound


def public(kind):
    return {
        name: inspect.signature(member)
        for name, member in vars(kind).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }


def test_both_clients_have_the_same_verbs_with_the_same_arguments():
    assert public(AsyncClient) == public(Client)


def test_verbs_over_a_dsn(dsn, queue):
    async def scenario():
        async with AsyncClient(dsn) as client:
            first = await client.send(queue, {"n": 1}, priority=1)
            await client.send_batch(queue, [2, 3])
            messages = await client.receive(queue, 3, durable=False)
            assert first in {message.id for message in messages}
            assert await client.change_visibility(messages[0], 60)
            assert await client.ack(messages[0])
            assert await client.nack(messages[1], delay_seconds=0) == "retry"
            assert await client.ack_batch(messages) == {
                messages[0].receipt_handle: False,
                messages[1].receipt_handle: False,
                messages[2].receipt_handle: True,
            }
            assert await client.purge(queue) == 1
            with pytest.raises(QueueNotFound):
                await client.send("nowhere", 1)

    asyncio.run(scenario())


def test_calls_made_together_take_turns(dsn, queue):
    async def scenario():
        async with AsyncClient(dsn) as client:
            ids = await asyncio.gather(*(client.send(queue, number) for number in range(10)))
            assert len(set(ids)) == 10

    asyncio.run(scenario())


def test_joins_the_callers_transaction(dsn, queue, client):
    async def scenario():
        async with await psycopg.AsyncConnection.connect(dsn) as connection:
            joined = AsyncClient(connection)
            await joined.send(queue, 1)
            with pytest.raises(OpenTransaction):
                await joined.receive(queue)
            await connection.rollback()

    asyncio.run(scenario())
    assert client.receive(queue) == []


def test_a_pool_commits_each_call(dsn, queue):
    async def scenario():
        async with AsyncConnectionPool(dsn, min_size=1, open=False) as pool:
            client = AsyncClient(pool)
            await client.send(queue, 1)
            assert len(await client.receive(queue)) == 1

    asyncio.run(scenario())


def test_a_lost_connection_is_replaced_before_the_next_call(dsn, queue, connection):
    async def scenario():
        async with AsyncClient(dsn, application_name="async to be terminated") as client:
            await client.send(queue, 1)
            connection.execute(
                "select pg_terminate_backend(pid, 60000) from pg_stat_activity where application_name = %s",
                ["async to be terminated"],
            )
            assert await client.send(queue, 2) > 0

    asyncio.run(scenario())


def test_a_cancelled_call_leaves_the_client_usable(dsn, queue, connection):
    connection.execute("lock table signalbox.queue in access exclusive mode")

    async def scenario():
        async with AsyncClient(dsn) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.send(queue, 1), 0.2)
            connection.rollback()
            assert await client.send(queue, 2) > 0

    asyncio.run(scenario())
