"""Large bodies in a bucket, with the settings that the docs name, over HTTP to a server that speaks S3."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import psycopg
import pytest
from django.core.files.storage.handler import StorageHandler
from moto.server import ThreadedMotoServer

from queues.bodies import StoredBodies
from queues.upkeep.body_collection import collect, sweep
from signalbox import BodyMissing, Client
from signalbox.payloads.bodies import INLINE_BYTES
from tests.engine import Engine

Connect = Callable[..., psycopg.Connection[Any]]
CREDENTIALS = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "eu-west-1"}
BUCKET = "signalbox-bodies"
LATER = timedelta(days=2)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str) -> Iterator[Any]:
    """An empty bucket; gone afterwards."""
    bucket = boto3.resource("s3", endpoint_url=endpoint, **CREDENTIALS).Bucket(BUCKET)
    bucket.create(CreateBucketConfiguration={"LocationConstraint": CREDENTIALS["region_name"]})
    yield bucket
    bucket.objects.all().delete()
    bucket.delete()


@pytest.fixture
def store(endpoint: str, bucket: Any, engine: Engine) -> StoredBodies:
    """Storage of `BODIES_STORAGE` and `BODIES_OPTIONS`, after removing unneeded bodies of other tests."""
    engine.connection.execute("delete from signalbox.large_body b where not signalbox._body_is_needed(b.sha256)")
    options = {
        "bucket_name": BUCKET,
        "location": "production",
        "file_overwrite": True,
        "endpoint_url": endpoint,
        "access_key": CREDENTIALS["aws_access_key_id"],
        "secret_key": CREDENTIALS["aws_secret_access_key"],
        "region_name": CREDENTIALS["region_name"],
    }
    backends = {"bodies": {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}}
    return StoredBodies(StorageHandler(backends)["bodies"], 100_000_000)


def keys(bucket: Any) -> list[str]:
    return [each.key for each in bucket.objects.all()]


def large(engine: Engine) -> tuple[str, str]:
    """A payload that is too large for the log, and the hash of its body."""
    payload = engine.queue + "x" * INLINE_BYTES
    return payload, hashlib.sha256(json.dumps(payload).encode()).hexdigest()


def test_a_large_body_goes_to_the_bucket_and_comes_back(
    dsn: str, engine: Engine, store: StoredBodies, bucket: Any
) -> None:
    payload, sha256 = large(engine)
    with Client(dsn, bodies=store) as client:
        client.send(engine.queue, payload)
        client.send(engine.queue, payload)

        first, second = client.receive(engine.queue, 2)

        assert (first.payload, second.payload) == (payload, payload)
    assert keys(bucket) == [f"production/{sha256[:2]}/{sha256}"]


def test_what_nothing_points_to_leaves_the_bucket(
    dsn: str, engine: Engine, connect: Connect, store: StoredBodies, bucket: Any
) -> None:
    payload, sha256 = large(engine)
    with Client(dsn, bodies=store) as client:
        client.send(engine.queue, payload)
        assert collect(connect(), store, 0).removed == 0
        engine.connection.execute(
            "with gone as (delete from signalbox.message where queue_id = %s returning message_id)"
            " delete from signalbox.body_pointer where message_id in (select message_id from gone)",
            [engine.queue_id],
        )

        assert collect(connect(), store, 0).removed == 1

        assert keys(bucket) == []
        assert not store.exists(sha256)
        with pytest.raises(BodyMissing):
            store.open(sha256)


def test_orphans_are_swept_and_what_is_not_ours_stays(
    engine: Engine, connect: Connect, store: StoredBodies, bucket: Any
) -> None:
    _, sha256 = large(engine)
    store.put(sha256, b"a send that was rolled back")
    bucket.put_object(Key="production/notes/readme.txt", Body=b"somebody else's")

    assert sweep(connect(), store).orphans == 0
    assert sweep(connect(), store, now=lambda: datetime.now(UTC) + LATER).orphans == 1

    assert keys(bucket) == ["production/notes/readme.txt"]


def test_an_object_that_goes_while_the_bucket_is_listed_is_no_orphan(
    store: StoredBodies, bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, kept = "a" * 64, "b" * 64
    store.put(gone, b"1")
    store.put(kept, b"2")
    listed = store.storage.listdir

    def listdir(path: str) -> Any:
        found = listed(path)
        bucket.Object(f"production/aa/{gone}").delete()
        return found

    monkeypatch.setattr(store.storage, "listdir", listdir)

    assert list(store.stored_before(datetime.now(UTC) + LATER)) == [kept]
