"""Streams by the client, in both its kinds."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from signalbox import AsyncClient, Client, GroupNotFound, InvalidArgument, Place, QueueClosed, StreamNotFound

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def name() -> str:
    return f"by-client-{uuid.uuid4().hex[:8]}"


def test_a_stream_from_the_first_message_to_a_seek(dsn: str, name: str) -> None:
    with Client(dsn) as client:
        client.create_stream(name, {"partitions": 1})
        client.create_group(name, "g", point="beginning")
        assert client.append(name, {"n": 1}, key="k", attributes={"region": "eu"}) == Place(0, 1)
        assert client.append_batch(name, [2, 3], keys=["k", None]) == [Place(0, 2), Place(0, 3)]
        assert client.join_group(name, "g", "m", lease_seconds=60) == {0: 2}

        messages = client.read_stream(name, "g", "m")

        assert [message.payload for message in messages] == [{"n": 1}, 2, 3]
        assert (messages[0].key, messages[0].attributes) == ("k", {"region": "eu"})
        assert client.commit_messages(name, "g", "m", messages)
        assert client.read_stream(name, "g", "m") == []
        assert [moved.messages for moved in client.seek(name, "g", "beginning", dry_run=True)] == [3]
        assert client.seek(name, "g", "offset", partition=0, position=2)[0].to_position == 2
        assert [message.payload for message in client.read_stream(name, "g", "m")] == [3]
        assert client.leave_group(name, "g", "m") == 1
        assert client.configure_stream(name, {"closed": True}) > 0
        with pytest.raises(QueueClosed):
            client.append(name, 4)
        assert client.drop_group(name, "g")


def test_a_stale_commit_is_false(dsn: str, name: str) -> None:
    with Client(dsn) as client:
        client.create_stream(name, {"partitions": 1})
        client.create_group(name, "g", point="time", at=datetime.now(UTC) - timedelta(hours=1))
        client.append(name, 1)
        messages = client.read_stream(name, "g", "m")
        client.seek(name, "g", "end")

        assert not client.commit_messages(name, "g", "m", messages)


def test_an_append_joins_the_callers_transaction(dsn: str, name: str, connect: Connect) -> None:
    connection = connect(autocommit=False)
    with Client(dsn) as own:
        own.create_stream(name)
        own.create_group(name, "g", point="beginning")
        Client(connection).append(name, "gone")
        connection.rollback()

        assert own.read_stream(name, "g", "m") == []


def test_what_is_missing_is_named(dsn: str, name: str) -> None:
    with Client(dsn) as client:
        with pytest.raises(StreamNotFound):
            client.append(name, 1)
        client.create_stream(name)
        with pytest.raises(GroupNotFound):
            client.read_stream(name, "g", "m")
        with pytest.raises(InvalidArgument) as refused:
            client.create_stream(name + "-2", {"partitions": 100})
    assert refused.value.field == "partitions"


def test_the_same_for_asyncio(dsn: str, name: str) -> None:
    async def live() -> None:
        async with AsyncClient(dsn) as client:
            await client.create_stream(name, {"partitions": 1})
            await client.create_group(name, "g", point="beginning")
            await client.append_batch(name, [1, 2])
            messages = await client.read_stream(name, "g", "m")
            assert [message.payload for message in messages] == [1, 2]
            assert await client.commit_messages(name, "g", "m", messages)
            assert await client.read_stream(name, "g", "m") == []
            assert [one.messages for one in await client.seek(name, "g", "beginning")] == [2]

    asyncio.run(live())


def test_both_clients_have_the_same_verbs() -> None:
    def verbs(kind: type) -> set[str]:
        return {verb for verb in dir(kind) if not verb.startswith("_")}

    assert verbs(Client) == verbs(AsyncClient)
