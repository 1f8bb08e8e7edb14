"""Large bodies in Django's storage: needed ones stay, others are deleted, whatever the storage does."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, InMemoryStorage
from django.core.management import CommandError, call_command

from queues import bodies, messages
from queues.bodies import StoredBodies, WholeFiles
from queues.upkeep.body_collection import collect, sweep
from queues.upkeep.upkeep import Chores
from signalbox import BodyMissing, Client, InvalidArgument
from signalbox.payloads.bodies import INLINE_BYTES, Parcel
from tests.engine import Engine
from tests.races.sessions import finish, start, until_waiting

Connect = Callable[..., psycopg.Connection[Any]]
LATER = timedelta(days=2)


def large(engine: Engine, more: str = "") -> str:
    return f"{engine.queue} {more}" + "x" * INLINE_BYTES


def hash_of(payload: str) -> str:
    return hashlib.sha256(json.dumps(payload).encode()).hexdigest()


@pytest.fixture
def store(tmp_path: Path, engine: Engine) -> Iterator[StoredBodies]:
    """A store of the test's own; bodies that others left unneeded are forgotten first, they are not in it."""
    engine.connection.execute("delete from signalbox.large_body b where not signalbox._body_is_needed(b.sha256)")
    return StoredBodies(WholeFiles(location=tmp_path / "bodies"), 100_000_000)


@pytest.fixture
def client(dsn: str, store: StoredBodies) -> Iterator[Client]:
    with Client(dsn, bodies=store) as client:
        yield client


class FailingStore:
    """Storage that removes nothing."""

    def delete(self, *_: str) -> None:
        raise OSError("the storage is away")


def forget_log(engine: Engine) -> None:
    """Drop the segments with all of the queue's messages."""
    engine.connection.execute(
        "with gone as (delete from signalbox.message where queue_id = %s returning message_id)"
        " delete from signalbox.body_pointer where message_id in (select message_id from gone)",
        [engine.queue_id],
    )


@pytest.mark.parametrize("storage", [InMemoryStorage, WholeFiles, FileSystemStorage])
def test_any_storage_will_do(storage: Any, tmp_path: Path, dsn: str, engine: Engine) -> None:
    store = StoredBodies(storage(**({} if storage is InMemoryStorage else {"location": tmp_path})), 1_000_000)
    client = Client(dsn, bodies=store)
    client.send(engine.queue, large(engine))
    store.put(hash_of(large(engine)), json.dumps(large(engine)).encode())

    (message,) = client.receive(engine.queue)

    assert message.payload == large(engine)
    assert list(store.stored_before(datetime.now(UTC) + LATER)) == [hash_of(large(engine))]
    store.delete(hash_of(large(engine)))
    store.delete(hash_of(large(engine)))
    with pytest.raises(BodyMissing):
        store.open(hash_of(large(engine)))


@pytest.mark.parametrize("hostile", ["../../etc/passwd", "a" * 65, "A" * 64, ""])
def test_a_hostile_hash_never_becomes_a_name(store: StoredBodies, hostile: str) -> None:
    for call in (store.open, store.exists, store.delete, lambda sha256: store.put(sha256, b"x")):
        with pytest.raises(InvalidArgument):
            call(hostile)


def test_what_nothing_points_to_goes_with_its_object(
    engine: Engine, connect: Connect, client: Client, store: StoredBodies
) -> None:
    client.send(engine.queue, large(engine))
    sha256 = hash_of(large(engine))
    assert collect(connect(), store, 0).removed == 0
    assert store.exists(sha256)

    forget_log(engine)
    assert collect(connect(), store, 3600).removed == 0
    assert collect(connect(), store, 0).removed == 1

    assert not store.exists(sha256)
    client.send(engine.queue, large(engine))
    assert store.exists(sha256)


def test_a_dead_letter_keeps_its_object(engine: Engine, connect: Connect, client: Client, store: StoredBodies) -> None:
    client.send(engine.queue, large(engine))
    (message,) = client.receive(engine.queue)
    client.nack(message, reason="rejected")
    forget_log(engine)

    assert collect(connect(), store, 0).removed == 0
    engine.value(
        "select signalbox.redrive(array[dead_letter_id]) from signalbox.dead_letter where message_id = %s", message.id
    )
    assert collect(connect(), store, 0).removed == 0

    (again,) = client.receive(engine.queue)
    assert again.payload == large(engine)


def test_a_storage_that_is_away_keeps_the_row(
    engine: Engine, connect: Connect, client: Client, store: StoredBodies
) -> None:
    for more in ("1", "2"):
        client.send(engine.queue, large(engine, more))
    forget_log(engine)

    done = collect(connect(), FailingStore(), 0)
    assert (done.removed, done.failed) == (0, 2)
    done = collect(connect(), store, 0)
    assert (done.removed, done.failed) == (2, 0)


def test_a_round_ends(engine: Engine, connect: Connect, client: Client, store: StoredBodies) -> None:
    for more in ("1", "2", "3"):
        client.send(engine.queue, large(engine, more))
    forget_log(engine)

    assert [collect(connect(), store, 0, most=2).removed for _ in range(3)] == [2, 1, 0]


class SlowStore:
    """Stop the collector at the moment in which it removes the object."""

    def __init__(self, store: StoredBodies, meanwhile: Callable[[], None]) -> None:
        self._store, self._meanwhile = store, meanwhile

    def delete(self, sha256: str) -> None:
        self._store.delete(sha256)
        self._meanwhile()


def test_who_sends_the_same_body_while_it_is_removed_uploads_it_again(
    engine: Engine, connect: Connect, client: Client, store: StoredBodies
) -> None:
    client.send(engine.queue, large(engine))
    forget_log(engine)
    observer, session = connect(), connect()
    sending: list[Any] = []

    def send_in_between() -> None:
        sending.append(start(Client(session, bodies=store).send, engine.queue, large(engine)))
        until_waiting(observer, session)

    assert collect(connect(), SlowStore(store, send_in_between), 0).removed == 1
    finish(sending[0])

    assert store.exists(hash_of(large(engine)))
    assert collect(connect(), store, 0).removed == 0


def test_who_sends_a_body_whose_orphan_is_swept_uploads_it_again(
    engine: Engine, connect: Connect, client: Client, store: StoredBodies
) -> None:
    parcel = Parcel.of(json.dumps(large(engine)))
    store.put(parcel.sha256, parcel.content)
    observer, session = connect(), connect()
    sending: list[Any] = []

    class Slow(StoredBodies):
        def delete(self, sha256: str) -> None:
            super().delete(sha256)
            sending.append(start(Client(session, bodies=store).send, engine.queue, large(engine)))
            until_waiting(observer, session)

    done = sweep(connect(), Slow(store.storage, 1), now=lambda: datetime.now(UTC) + LATER)
    finish(sending[0])

    assert done.orphans == 1
    assert store.exists(parcel.sha256)


def test_an_orphan_that_a_sender_has_in_hand_stays(engine: Engine, connect: Connect, store: StoredBodies) -> None:
    parcel = Parcel.of(json.dumps(large(engine)))
    store.put(parcel.sha256, parcel.content)
    sender = connect(autocommit=False)
    Client(sender, bodies=store).send(engine.queue, large(engine))

    done = sweep(connect(), store, now=lambda: datetime.now(UTC) + LATER)
    sender.commit()

    assert done.orphans == 0
    assert store.exists(parcel.sha256)


def test_orphans_are_swept_when_they_are_old(
    engine: Engine, connect: Connect, client: Client, store: StoredBodies, tmp_path: Path
) -> None:
    client.send(engine.queue, large(engine, "needed"))
    with connect(autocommit=False) as session:
        Client(session, bodies=store).send(engine.queue, large(engine, "rolled back"))
        session.rollback()
    stranger = tmp_path / "bodies" / "aa" / "README"
    stranger.parent.mkdir(exist_ok=True)
    stranger.touch()
    os.utime(stranger, (0, 0))

    assert sweep(connect(), store).orphans == 0
    assert sweep(connect(), store, now=lambda: datetime.now(UTC) + LATER).orphans == 1

    assert store.exists(hash_of(large(engine, "needed")))
    assert not store.exists(hash_of(large(engine, "rolled back")))
    assert stranger.exists()


def test_an_empty_store_has_nothing_to_sweep(connect: Connect, store: StoredBodies) -> None:
    assert sweep(connect(), store).orphans == 0


def test_a_storage_that_renames_leaves_no_second_copy(tmp_path: Path) -> None:
    store = StoredBodies(FileSystemStorage(location=tmp_path), 1_000_000)
    for _ in range(2):
        store.put("a" * 64, b"content")

    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["a" * 64]


def test_files_are_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = WholeFiles(location=tmp_path)

    def fail(_: int) -> None:
        raise OSError("disk")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk"):
        storage.save("aa/" + "a" * 64, ContentFile(b"half"))

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_from_django_large_payloads_go_to_the_storage_of_the_settings(commits: None, engine: Engine) -> None:
    message_id = messages.send(engine.queue, large(engine))

    (message,) = messages.receive(engine.queue)

    assert (message.id, message.payload) == (message_id, large(engine))
    assert bodies.store().exists(hash_of(large(engine)))


def test_upkeep_collects_and_survives_a_storage_that_is_away(
    engine: Engine, connect: Connect, commits: None, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.BODIES_GRACE_SECONDS = 0
    messages.send(engine.queue, large(engine))
    forget_log(engine)
    chores = Chores(connect())
    assert {step.name for step in chores.steps} >= {"collect_bodies", "sweep_bodies"}

    with monkeypatch.context() as patched:
        patched.setattr(WholeFiles, "delete", FailingStore.delete)
        patched.setattr(WholeFiles, "listdir", FailingStore.delete)
        chores.collect_bodies()
        chores.sweep_bodies()
        patched.setattr(bodies, "store", FailingStore().delete)
        chores.collect_bodies()
        chores.sweep_bodies()
    assert bodies.store().exists(hash_of(large(engine)))

    chores.collect_bodies()
    chores.sweep_bodies()
    assert not bodies.store().exists(hash_of(large(engine)))


def test_the_command_says_what_it_did(engine: Engine, commits: None) -> None:
    messages.send(engine.queue, large(engine))
    forget_log(engine)
    told = StringIO()

    call_command("collect_bodies", "--grace", "0", "--sweep", "--json", stdout=told)

    done = json.loads(told.getvalue())
    assert done["removed"] >= 1
    assert done["failed"] == 0
    assert not bodies.store().exists(hash_of(large(engine)))
    told = StringIO()
    call_command("collect_bodies", stdout=told)
    assert told.getvalue() == "Removed 0 bodies and 0 orphans; 0 failed.\n"


@pytest.mark.parametrize("grace", ["-1", "nan", "inf"])
def test_the_command_refuses_a_grace_that_is_none(commits: None, grace: str) -> None:
    with pytest.raises(CommandError, match="from 0 to 31536000 seconds"):
        call_command("collect_bodies", f"--grace={grace}")
