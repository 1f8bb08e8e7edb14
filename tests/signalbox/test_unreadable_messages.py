"""A message that Python cannot read is one bad message: its neighbours are delivered, and nothing stops."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from signalbox import Message, Unreadable
from signalbox.payloads.unreadable import MAX_LEVELS_READ, decode
from tests.poison import POISONS, each_poison, in_attributes, spoil, spoil_stream
from tests.signalbox.flavours import FLAVOURS, client_of
from tests.signalbox.worker.workers import eventually, handler_starter, worker_starter


@pytest.fixture
def database(dsn: str) -> Any:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture(params=FLAVOURS)
def any_client(request: Any) -> Any:
    over_http = request.param.startswith("http")
    address = request.getfixturevalue("api_address") if over_http else (request.getfixturevalue("dsn"),)
    with client_of(request.param, *address) as client:
        yield client


@pytest.fixture(params=["database", "database async"])
def any_database_client(request: Any, dsn: str) -> Any:
    with client_of(request.param, dsn) as client:
        yield client


@pytest.fixture
def start_any_worker(dsn: str, tmp_path: Path, request: Any) -> Any:
    with ExitStack() as started:

        def start(source: str, *arguments: str, **options: Any) -> Any:
            where = {"DATABASE_URL": dsn}
            if source == "server":
                url, key = request.getfixturevalue("api_address")
                where = {"DATABASE_URL": "", "SIGNALBOX_URL": url, "SIGNALBOX_API_KEY": key}
            return handler_starter(started.enter_context(worker_starter(tmp_path, **where)))(*arguments, **options)

        yield start


@each_poison
@pytest.mark.parametrize("column", ["payload", "attributes"])
def test_its_neighbours_are_received(any_client: Any, queue: str, database: Any, poison: str, column: str) -> None:
    ids = any_client.send_batch(queue, [{"n": n} for n in range(3)])
    spoil(database, ids[1], poison if column == "payload" else in_attributes(poison), column)

    first, second, third = any_client.receive(queue, 10)

    assert [first.payload, third.payload] == [{"n": 0}, {"n": 2}]
    assert (first.unreadable, third.unreadable) == (None, None)
    assert second.unreadable.field == column
    assert second.unreadable.text == _stored(database, ids[1], column)
    assert second.payload == (second.unreadable if column == "payload" else {"n": 1})
    assert second.attributes == {}
    assert second.trace_id is None
    assert any_client.nack(second, reason="rejected") == "dead"
    assert all(any_client.ack_batch([first, third]).values())


@each_poison
def test_a_state_that_cannot_be_read_is_none(any_client: Any, queue: str, database: Any, poison: str) -> None:
    message_id = any_client.send(queue, 1)
    (message,) = any_client.receive(queue)
    any_client.nack(message, delay_seconds=0, state={"page": 1})
    database.execute("update signalbox.message_state set state = %s::jsonb where message_id = %s", [poison, message_id])

    (again,) = any_client.receive(queue)

    assert (again.payload, again.state, again.unreadable.field) == (1, None, "state")


@pytest.mark.parametrize("source", ["database", "server"])
def test_a_worker_rejects_them_and_works_on(
    source: str, client: Any, queue: str, notes: Any, start_any_worker: Any, dead_letter: Any, database: Any
) -> None:
    spoiled = {}
    for poison in POISONS.values():
        for column, text in (("payload", poison), ("attributes", in_attributes(poison))):
            message_id = client.send(queue, notes.payload())
            spoil(database, message_id, text, column)
            spoiled[message_id] = column
    good = client.send_batch(queue, [notes.payload()] * 3)
    worker = start_any_worker(source, queue, "record", prefetch=20)

    eventually(lambda: all(dead_letter(message_id) for message_id in spoiled))
    eventually(lambda: len(notes.lines) == len(good))

    assert sorted(line[1] for line in notes.lines) == good
    for message_id, field in spoiled.items():
        reason, error_class, error, _, receive_count = dead_letter(message_id)
        assert (reason, error_class) == ("rejected", "signalbox.errors.MessageUnreadable")
        assert error.startswith(f"{field} is JSON that Python cannot read: ")
        assert receive_count == 1
    assert worker.process.poll() is None


@each_poison
def test_a_group_of_a_stream_passes_it(
    dsn: str, any_database_client: Any, queue: str, database: Any, poison: str
) -> None:
    client, stream = any_database_client, f"{queue}-stream"
    client.create_stream(stream, {"partitions": 1})
    client.create_group(stream, "g", point="beginning")
    client.append_batch(stream, [1, 2, 3])
    spoil_stream(database, stream, 2, poison)
    client.join_group(stream, "g", "m", lease_seconds=60)

    messages = client.read_stream(stream, "g", "m")

    assert [one.payload for one in messages if one.unreadable is None] == [1, 3]
    assert isinstance(messages[1].payload, Unreadable)
    assert client.commit_messages(stream, "g", "m", messages)
    assert client.read_stream(stream, "g", "m") == []


@each_poison
def test_it_crosses_to_another_process_as_json(
    any_database_client: Any, queue: str, database: Any, poison: str
) -> None:
    message_id = any_database_client.send(queue, 1)
    spoil(database, message_id, poison)
    (message,) = any_database_client.receive(queue)

    assert Message.from_json(json.loads(json.dumps(message.to_json()))) == message


def test_what_is_read_can_be_written_again() -> None:
    """A value at the edge of what the parser takes would fail wherever it is passed on."""
    deepest = "[" * MAX_LEVELS_READ + "]" * MAX_LEVELS_READ

    assert decode(deepest) == json.loads(deepest)
    assert isinstance(decode(f"[{deepest}]"), Unreadable)


def _stored(database: Any, message_id: int, column: str) -> str:
    statement = f"select {column}::text from signalbox.message where message_id = %s"
    return str(database.execute(statement, [message_id]).fetchone()[0])
