"""Payloads too large for the database, through both clients, the worker, and a folder as the store."""

from __future__ import annotations

import asyncio
import hashlib
import json
import stat
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from signalbox import (
    AsyncClient,
    BodyCorrupt,
    BodyMissing,
    Client,
    DeduplicationConflict,
    FileBodies,
    InvalidArgument,
    Message,
    PayloadTooLarge,
    QueueNotFound,
)
from signalbox.payloads.bodies import INLINE_BYTES, LargeMessage, Parcel, is_large
from signalbox.payloads.encoding import encode
from signalbox.worker.processes.child import store_of
from tests.signalbox.test_outcomes import Awaited
from tests.signalbox.worker.workers import eventually


def large(queue: str, more: str = "") -> dict[str, Any]:
    """A payload of this test alone, above what the log holds."""
    return {"of": queue, "text": "é" * (INLINE_BYTES // 2) + more}


def files(store: FileBodies) -> list[Path]:
    return [path for path in store.folder.rglob("*") if path.is_file()] if store.folder.exists() else []


class Watched(FileBodies):
    """A folder that remembers what it was asked, and may be full."""

    def __init__(self, folder: Path, **options: Any) -> None:
        super().__init__(folder, **options)
        self.calls: list[str] = []
        self.full = False

    def put(self, sha256: str, content: bytes) -> None:
        self.calls.append("put")
        if self.full:
            raise OSError("no space left")
        super().put(sha256, content)

    def open(self, sha256: str) -> Any:
        self.calls.append("open")
        return super().open(sha256)


class AwaitedWithBodies(Awaited):
    def __init__(self, dsn: str, bodies: FileBodies | None) -> None:
        super().__init__(dsn)
        self._bodies = bodies

    def __getattr__(self, verb: str) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            async def run() -> Any:
                async with AsyncClient(self._dsn, bodies=self._bodies) as client:
                    return await getattr(client, verb)(*arguments, **options)

            return asyncio.run(run())

        return call


@pytest.fixture
def store(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "bodies")


@pytest.fixture(params=["sync", "async"])
def either(request: pytest.FixtureRequest, dsn: str, store: Watched) -> Any:
    return Client(dsn, bodies=store) if request.param == "sync" else AwaitedWithBodies(dsn, store)


def test_a_large_payload_makes_the_round(either, queue, store):
    payload = large(queue)
    either.send(queue, payload, attributes={"k": "v"})
    (message,) = either.receive(queue)
    assert isinstance(message, Message)
    assert message.body is not None
    assert message.body.bytes == len(encode(payload).encode()) > INLINE_BYTES
    assert message.attributes == {"k": "v"}
    assert store.calls == ["put"]
    assert message.payload == payload
    assert message.payload is message.payload
    assert store.calls == ["put", "open"]
    assert either.ack(message) is True


def test_looking_at_the_rest_of_a_message_fetches_nothing(either, queue, store):
    either.send(queue, large(queue))
    (message,) = either.receive(queue)
    assert f"id={message.id}" in repr(message)
    assert message == message
    assert {message: 1}[message] == 1
    assert message.to_json()["payload"] is None
    assert store.calls == ["put"]


def test_a_small_payload_stays_in_the_database(either, queue, store):
    either.send(queue, {"n": 1})
    either.send(queue, "x" * 200_000)
    messages = either.receive(queue, 2)
    assert [message.body for message in messages] == [None, None]
    assert type(messages[0]) is Message
    assert files(store) == []


def test_the_same_body_is_stored_once(either, queue, store):
    payload = large(queue)
    for _ in range(2):
        either.send(queue, payload)
    assert store.calls == ["put"]
    assert [message.payload for message in either.receive(queue, 2)] == [payload] * 2


def test_a_batch_mixes_large_and_small(either, queue, store):
    payloads = [large(queue, "1"), "small", large(queue, "2"), large(queue, "1")]
    ids = either.send_batch(queue, payloads, priorities=[0, 0, 0, 0])
    messages = either.receive(queue, 4)
    assert [message.id for message in messages] == ids
    assert [message.payload for message in messages] == payloads
    assert store.calls.count("put") == 2


def test_deduplication_compares_bodies(either, queue):
    message_id = either.send(queue, large(queue), deduplication_id="key")
    assert either.send(queue, large(queue), deduplication_id="key") == message_id
    with pytest.raises(DeduplicationConflict) as caught:
        either.send(queue, large(queue, "other"), deduplication_id="key")
    assert caught.value.first_message_id == message_id


def test_without_a_store_a_large_payload_is_refused(client, dsn, queue):
    for sender in (client, Awaited(dsn)):
        with pytest.raises(PayloadTooLarge):
            sender.send(queue, large(queue))


def test_a_store_has_its_own_limit(dsn, queue, tmp_path):
    store = Watched(tmp_path, max_bytes=INLINE_BYTES + 10)
    payload = large(queue)
    for sender in (Client(dsn, bodies=store), AwaitedWithBodies(dsn, store)):
        with pytest.raises(PayloadTooLarge, match=f"above the body store's limit of {INLINE_BYTES + 10}"):
            sender.send_batch(queue, ["small", payload])
    assert store.calls == []


def test_a_queue_that_was_limited_takes_none(either, make_queue):
    queue = make_queue(max_payload_bytes=1000)
    with pytest.raises(PayloadTooLarge):
        either.send(queue, large(queue))


def test_receivers_without_a_store_get_an_error(either, client, dsn, queue):
    either.send(queue, large(queue))
    (message,) = client.receive(queue)
    with pytest.raises(BodyMissing, match="the client has no body store"):
        message.payload  # noqa: B018 - looking at it is what fetches
    assert message.body is not None
    assert client.ack(message) is True


def test_a_body_that_is_gone_is_missing(either, queue, store):
    either.send(queue, large(queue))
    files(store)[0].unlink()
    (message,) = either.receive(queue)
    with pytest.raises(BodyMissing, match=message.body.sha256):
        message.payload  # noqa: B018


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data + b" ", lambda data: b"7" + data[1:]])
def test_a_body_that_was_changed_is_corrupt(either, queue, store, damage):
    either.send(queue, large(queue))
    (path,) = files(store)
    path.write_bytes(damage(path.read_bytes()))
    (message,) = either.receive(queue)
    with pytest.raises(BodyCorrupt, match=message.body.sha256):
        message.payload  # noqa: B018


def test_a_store_that_fails_sends_nothing(either, queue, store, held, dsn):
    store.full = True
    with pytest.raises(OSError, match="no space left"):
        either.send(queue, large(queue))
    assert held(queue) == 0
    assert claims(dsn, large(queue)) == 0
    store.full = False
    either.send(queue, large(queue))
    assert held(queue) == 1


def claims(dsn: str, payload: object) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "select count(*) from signalbox.large_body where sha256 = %s",
            [hashlib.sha256(encode(payload).encode()).digest()],
        ).fetchone()
    assert row is not None
    return row[0]


def test_what_is_refused_leaves_no_claim(either, store, dsn):
    with pytest.raises(QueueNotFound):
        either.send("no-such-queue", large("nowhere"))
    assert claims(dsn, large("nowhere")) == 0


class TestWhoseTransaction:
    """A large message joins its caller's transaction like any other."""

    @pytest.mark.parametrize("autocommit", [False, True])
    def test_a_rollback_leaves_nothing(self, dsn, queue, store, held, autocommit):
        with psycopg.connect(dsn, autocommit=autocommit) as connection:
            if autocommit:
                connection.execute("begin")
            Client(connection, bodies=store).send(queue, large(queue))
            assert held(queue) == 0
            connection.execute("rollback")
        assert held(queue) == claims(dsn, large(queue)) == 0

    def test_the_caller_commits(self, dsn, queue, store, held):
        with psycopg.connect(dsn) as connection:
            Client(connection, bodies=store).send(queue, large(queue))
            assert held(queue) == 0
        assert held(queue) == 1

    def test_an_idle_autocommit_connection_commits_at_once(self, dsn, queue, store, held):
        with psycopg.connect(dsn, autocommit=True) as connection:
            Client(connection, bodies=store).send(queue, large(queue))
            assert held(queue) == 1
            assert connection.info.transaction_status.name == "IDLE"

    def test_a_pool_commits_each_call(self, dsn, queue, store, held):
        with ConnectionPool(dsn, min_size=1, max_size=1) as pool:
            Client(pool, bodies=store).send(queue, large(queue))
            assert held(queue) == 1

    def test_an_async_connection_joins_too(self, dsn, queue, store, held):
        async def send(end):
            async with await psycopg.AsyncConnection.connect(dsn) as connection:
                await AsyncClient(connection, bodies=store).send(queue, large(queue))
                await getattr(connection, end)()

        asyncio.run(send("rollback"))
        assert held(queue) == 0
        asyncio.run(send("commit"))
        assert held(queue) == 1


def test_the_asynchronous_client_fetches_in_a_thread(dsn, queue, store):
    async def run():
        async with AsyncClient(dsn, bodies=store) as client:
            await client.send_batch(queue, [large(queue), 7])
            return [await client.fetch(message) for message in await client.receive(queue, 2)]

    assert asyncio.run(run()) == [large(queue), 7]


class TestTheWorker:
    @pytest.mark.parametrize("handler", ["answer", "answer_async"])
    def test_handlers_get_the_payload(self, start_worker, queue, dsn, notes, store, handler):
        client = Client(dsn, bodies=store)
        message_id = client.send(queue, notes.payload(answer="short", text=large(queue)))
        start_worker(queue, handler, keep_results=True, bodies=store.folder)
        assert client.wait_settled(message_id, timeout=120).result == "short"

    def test_the_store_may_be_named_by_a_variable(self, start_worker, queue, dsn, notes, store, monkeypatch):
        monkeypatch.setenv("SIGNALBOX_BODIES", str(store.folder))
        client = Client(dsn, bodies=store)
        message_id = client.send(queue, notes.payload(answer="short", text=large(queue)))
        start_worker(queue, "answer", keep_results=True)
        assert client.wait_settled(message_id, timeout=120).result == "short"

    @pytest.mark.parametrize("handler", ["answer", "answer_async"])
    def test_a_missing_body_is_a_failure_like_others(
        self, start_worker, make_queue, dsn, notes, store, dead_letter, handler
    ):
        queue = make_queue(max_receives=1)
        client = Client(dsn, bodies=store)
        message_id = client.send(queue, notes.payload(text=large(queue)))
        files(store)[0].unlink()
        start_worker(queue, handler, bodies=f"file://{store.folder}")
        assert client.wait_settled(message_id, timeout=120).outcome == "dead"
        assert dead_letter(message_id)[:2] == ("runtime_error", "signalbox.errors.BodyMissing")

    def test_a_store_that_cannot_be_opened_ends_the_worker(self, start_worker, queue):
        worker = start_worker(queue, "answer", bodies="no.such.module:store")
        assert worker.wait() == 1
        eventually(lambda: "No module named 'no'" in worker.log.read_text())


class TestAFolder:
    def test_files_are_whole_private_and_found_by_their_hash(self, tmp_path):
        store = FileBodies(tmp_path / "bodies")
        parcel = Parcel.of('"text"')
        assert not store.exists(parcel.sha256)
        store.put(parcel.sha256, parcel.content)
        store.put(parcel.sha256, parcel.content)
        (path,) = files(store)
        assert path == tmp_path / "bodies" / parcel.sha256[:2] / parcel.sha256
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert store.exists(parcel.sha256)
        with store.open(parcel.sha256) as file:
            assert json.loads(file.read()) == "text"

    def test_a_write_that_fails_leaves_nothing_under_the_name(self, tmp_path, monkeypatch):
        store = FileBodies(tmp_path)
        monkeypatch.setattr("os.fsync", _fail)
        with pytest.raises(OSError, match="disk"):
            store.put("a" * 64, b"half")
        assert files(store) == []

    @pytest.mark.parametrize(
        "hostile",
        [
            "",
            "..",
            "../../etc/passwd",
            "a" * 63,
            "a" * 65,
            "A" * 64,
            "g" * 64,
            "a" * 63 + "/",
            "a" * 64 + "\n",
            7,
            None,
        ],
    )
    def test_a_hash_that_is_none_never_becomes_a_path(self, tmp_path, hostile):
        store = FileBodies(tmp_path)
        for call in (store.open, store.exists, lambda sha256: store.put(sha256, b"x")):
            with pytest.raises(InvalidArgument) as caught:
                call(hostile)
            assert caught.value.field == "sha256"
        assert files(store) == []


def _fail(_: int) -> None:
    raise OSError("disk")


def test_stores_have_names(tmp_path):
    assert store_of(None) is None
    assert store_of(str(tmp_path)).folder == tmp_path
    assert store_of("relative/folder").folder == Path("relative/folder")
    assert store_of("file:///var/with%20space").folder == Path("/var/with space")
    assert store_of(f"{__name__}:a_store" if "." in __name__ else "tests.signalbox.test_bodies:a_store").max_bytes == 7
    with pytest.raises(InvalidArgument):
        store_of("s3://bucket")


def a_store() -> FileBodies:
    return FileBodies("somewhere", max_bytes=7)


@pytest.mark.parametrize(
    "value",
    ["x" * 300_000, "é" * 131_071, ["a"] * 60_000, [1] * 100_000, {str(n): n for n in range(20_000)}, ",:" * 60_000],
)
def test_what_postgresql_would_refuse_is_large(client, queue, value):
    """The measure is taken without asking the database, and never too small."""
    try:
        client.send(queue, value)
    except PayloadTooLarge:
        assert is_large(encode(value))
    if not is_large(encode(value)):
        assert client.receive(queue)[0].payload == value


def test_a_message_crosses_to_a_child_without_its_payload(dsn, queue, store):
    Client(dsn, bodies=store).send(queue, large(queue))
    (message,) = Client(dsn, bodies=store).receive(queue)
    there = LargeMessage(Message.from_json(json.loads(json.dumps(message.to_json()))), store)
    assert there == message
    assert there.payload == large(queue)
