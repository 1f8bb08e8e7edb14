"""Payloads of streams that are too large for the database, through both clients and a folder as the store."""

from __future__ import annotations

import uuid
from typing import Any

import psycopg
import pytest

from signalbox import (
    BodyMissing,
    Client,
    DeduplicationConflict,
    FileBodies,
    PayloadTooLarge,
    Place,
)
from signalbox.payloads.bodies import INLINE_BYTES, LargeStreamMessage
from tests.signalbox.test_bodies import AwaitedWithBodies, Watched


@pytest.fixture
def store(tmp_path: Any) -> Watched:
    return Watched(tmp_path / "bodies")


@pytest.fixture(params=["sync", "async"])
def either(request: pytest.FixtureRequest, dsn: str, store: Watched) -> Any:
    return Client(dsn, bodies=store) if request.param == "sync" else AwaitedWithBodies(dsn, store)


@pytest.fixture
def stream(dsn: str) -> str:
    name = f"bodies-{uuid.uuid4().hex[:12]}"
    client = Client(dsn)
    client.create_stream(name, {"partitions": 1})
    client.create_group(name, "g", point="beginning")
    return name


def large(stream: str, more: str = "") -> dict[str, Any]:
    return {"of": stream, "text": "é" * (INLINE_BYTES // 2) + more}


def test_a_large_payload_is_appended_and_read_back(either, stream, store):
    payload = large(stream)
    place = either.append(stream, payload, key="k", attributes={"a": 1})
    either.append(stream, None)
    message, small = either.read_stream(stream, "g", "m")

    assert (place, message.key, message.attributes) == (Place(0, 1), "k", {"a": 1})
    assert (message.body is not None, small.body, small.payload) == (True, None, None)
    assert store.calls == ["put"]  # reading the rest of a message fetches nothing
    assert message == message
    assert "position=1" in repr(message)
    assert message.payload == payload
    assert message.payload is message.payload
    assert store.calls == ["put", "open"]
    assert either.commit_messages(stream, "g", "m", [message, small]) is True


def test_a_batch_mixes_large_small_and_binary_payloads(either, stream, store):
    data = b"\x00" * INLINE_BYTES
    payloads = [{"n": 1}, large(stream), data, large(stream)]
    places = either.append_batch(stream, payloads, keys=["a", None, "b", None], content_types=[None, None, "a/b", None])

    assert [place.position for place in places] == [1, 2, 3, 4]
    messages = either.read_stream(stream, "g", "m")
    assert [message.payload for message in messages] == payloads
    assert [isinstance(message, LargeStreamMessage) for message in messages] == [False, True, True, True]
    assert store.calls.count("put") == 2  # equal payloads are one body
    assert either.fetch(messages[1]) == payloads[1]


def test_a_deduplication_id_holds_for_one_large_body(either, stream):
    first = either.append(stream, large(stream), deduplication_id="id")
    assert either.append(stream, large(stream), deduplication_id="id") == first
    with pytest.raises(DeduplicationConflict):
        either.append(stream, large(stream, "other"), deduplication_id="id")
    ids = {"deduplication_ids": ["id", "new", "new"]}
    again = either.append_batch(stream, [large(stream)] * 3, **ids)
    assert again == [first, again[1], again[1]]
    assert [message.payload for message in either.read_stream(stream, "g", "m")] == [large(stream)] * 2


def test_what_cannot_be_stored_or_fetched_is_a_typed_error(dsn, stream, store, tmp_path):
    client = Client(dsn, bodies=store)
    with pytest.raises(PayloadTooLarge):
        Client(dsn).append(stream, large(stream))
    with pytest.raises(PayloadTooLarge):
        Client(dsn, bodies=FileBodies(tmp_path, max_bytes=10)).append(stream, large(stream))
    client.configure_stream(stream, {"max_payload_bytes": 1000})
    with pytest.raises(PayloadTooLarge):
        client.append(stream, large(stream))
    client.configure_stream(stream, {"max_payload_bytes": 262_144})
    client.append(stream, large(stream))
    (message,) = Client(dsn).read_stream(stream, "g", "m")
    with pytest.raises(BodyMissing):
        message.payload  # noqa: B018 - it fetches
    (message,) = client.read_stream(stream, "g", "m")
    for body in store.folder.rglob("*/*"):
        body.unlink()
    with pytest.raises(BodyMissing):
        message.payload  # noqa: B018


def test_each_wrong_argument_is_named(dsn, stream):
    call = "select * from signalbox.append_batch_large(%s, %s::jsonb[], %s::bytea[])"
    unknown, short = b"\x01" * 32, b"\x01" * 31
    with psycopg.connect(dsn, autocommit=True) as connection:
        for payloads, hashes, field in (
            (["null"], [unknown], "body_sha256s"),
            (["null"], [short], "body_sha256"),
            (["null"], [], "body_sha256s"),
            (["1"], [unknown], "payloads"),
        ):
            with pytest.raises(psycopg.Error) as refused:
                connection.execute(call, [stream, payloads, hashes])
            assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", field)


def test_a_reader_that_does_not_know_bodies_is_refused(dsn, stream, store):
    """Read as null, the message would look like a tombstone, and its commit would lose it."""
    Client(dsn, bodies=store).append(stream, large(stream))
    with psycopg.connect(dsn, autocommit=True) as connection, pytest.raises(psycopg.Error) as refused:
        connection.execute("select * from signalbox.read_stream(%s, 'g', 'm')", [stream])
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", "stream")
