"""Workers of consumer groups: order, retries in place, dead letters, and the share of each process."""

from __future__ import annotations

import signal
import threading
import uuid
from contextlib import contextmanager

import pytest

from signalbox import Client, FileBodies, InvalidArgument
from signalbox.worker import GroupWorker, Reject
from tests.signalbox.worker.workers import eventually, worker_starter


@pytest.fixture
def stream(client):
    name = f"worked-{uuid.uuid4().hex[:8]}"
    client.create_stream(name, {"partitions": 2})
    client.create_group(name, "g", point="beginning")
    return name


@pytest.fixture
def start(dsn, tmp_path):
    with worker_starter(tmp_path, DATABASE_URL=dsn) as start:
        yield start


@contextmanager
def working(*arguments, **options):
    worker = GroupWorker(*arguments, **options)
    thread = threading.Thread(target=worker.work)
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        thread.join()


def lag(client, stream):
    return client.list_groups(stream)[0].lag_messages


def test_a_message_is_tried_in_place_and_then_a_dead_letter_with_its_place(client, stream, queue, dsn):
    handled = []

    def handle(message):
        handled.append(message.payload)
        if message.payload == "poison":
            raise ValueError("no such customer")
        if message.payload == "rejected":
            raise Reject("never") from KeyError("x")

    client.append_batch(stream, ["a", "poison", "rejected", "b"], keys=["k"] * 4)
    with working(dsn, stream, "g", handle, attempts=2, dead_letter_queue=queue):
        eventually(lambda: lag(client, stream) == 0)

    assert handled == ["a", "poison", "poison", "rejected", "b"]
    dead = {message.payload: message.attributes["dead_letter_of"] for message in client.receive(queue, 10)}
    assert dead.keys() == {"poison", "rejected"}
    facts = dead["poison"]
    assert (facts["stream"], facts["group"], facts["key"], facts["position"]) == (stream, "g", "k", 2)
    assert (facts["error_class"], facts["error"]) == ("ValueError", "no such customer")
    assert dead["rejected"]["error_class"] == "KeyError"
    assert client.list_groups(stream)[0].members == 0


def test_large_bodies_are_fetched_and_a_lost_one_is_a_dead_letter(client, stream, queue, dsn, tmp_path):
    sender = Client(dsn, bodies=FileBodies(tmp_path))
    handled = []
    sender.append_batch(stream, [["x" * 300_000], ["y" * 300_000]], keys=["k"] * 2)
    lost = sender.read_stream(stream, "g", "m")[1].body
    sender.leave_group(stream, "g", "m")
    (tmp_path / lost.sha256[:2] / lost.sha256).unlink()

    options = {"bodies": str(tmp_path), "attempts": 1, "dead_letter_queue": queue}
    with working(dsn, stream, "g", lambda message: handled.append(message.payload), **options):
        eventually(lambda: lag(client, stream) == 0)

    assert handled == [["x" * 300_000]]
    (dead,) = client.receive(queue)
    assert dead.payload == {"sha256": lost.sha256, "bytes": lost.bytes}
    assert dead.attributes["dead_letter_of"]["error_class"].endswith("BodyMissing")


def test_what_is_not_done_is_not_committed(client, stream, dsn):
    tried = threading.Event()

    def handle(message):
        if message.payload == "poison":
            tried.set()
            raise ValueError("again")

    client.append_batch(stream, ["a", "poison", "b"], keys=["k"] * 3)
    with working(dsn, stream, "g", handle):
        tried.wait()

    assert lag(client, stream) == 2
    with working(dsn, stream, "g", lambda message: None):
        eventually(lambda: lag(client, stream) == 0)


def test_a_process_of_the_command_line_works_until_it_is_stopped(client, stream, notes, start):
    client.append_batch(stream, [notes.payload()] * 4)
    worker = start("tests.signalbox.worker.handlers:record_from_stream", stream=stream, group="g", member="m1")
    eventually(lambda: len(notes.said("read")) == 4 and lag(client, stream) == 0)
    worker.tell(signal.SIGTERM)
    assert worker.wait() == 0
    assert client.list_groups(stream)[0].members == 0


@pytest.mark.parametrize("options", [{"attempts": 0}, {"lease_seconds": 0}, {"max_messages": 0}])
def test_what_is_wrong_is_named(options):
    with pytest.raises(InvalidArgument) as refused:
        GroupWorker("postgresql:///x", "s", "g", print, **options)
    assert refused.value.field == next(iter(options))
