"""The sender: many sends in one call, each with a fate of its own."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from signalbox import (
    Client,
    DatabaseUnavailable,
    DeduplicationConflict,
    FileBodies,
    InvalidArgument,
    QueueNotFound,
    Sender,
)

PATIENCE_SECONDS = 120
LONG = 3600.0


@pytest.fixture
def sender(client):
    with Sender(client, delay=LONG) as sender:
        yield sender


def payloads(client, queue):
    return [message.payload for message in client.receive(queue, 100)]


def test_a_message_that_waits_alone_goes_after_the_delay(client, queue):
    with Sender(client, delay=0.001) as sender:
        assert sender.send(queue, "x").result(PATIENCE_SECONDS) > 0
    assert payloads(client, queue) == ["x"]


def test_as_many_as_go_together_go_at_once(client, queue):
    with Sender(client, delay=LONG, batch=10) as sender:
        ids = [sender.send(queue, number).result for number in range(10)]
        assert sorted(result(PATIENCE_SECONDS) for result in ids) == [result() for result in ids]
    assert payloads(client, queue) == list(range(10))


def test_what_goes_together_is_of_one_transaction(client, sender, connection, queue):
    ids = [sender.send(queue, number) for number in range(20)]
    sender.flush()
    rows = connection.execute(
        "select count(distinct xmin::text) from signalbox.message where message_id = any(%s)",
        [[future.result() for future in ids]],
    ).fetchall()
    assert rows == [(1,)]


def test_options_come_with_their_message(client, sender, make_queue):
    queue = make_queue(delay_seconds=100)
    sender.send(queue, 1, delay_seconds=0, attributes={"a": 1}, priority=3, group_id="g", trace_id="t")
    sender.send(queue, 2)
    sender.send(queue, 3, delay_seconds=0)
    sender.flush()
    first, second = client.receive(queue, 5)
    assert (first.payload, first.attributes, first.priority, first.group_id) == (1, {"a": 1}, 3, "g")
    assert (second.payload, second.attributes, second.priority, second.group_id) == (3, {}, 0, None)


def test_one_refused_message_fails_alone(client, sender, queue):
    first = client.send(queue, "x", deduplication_id="used")
    before, refused, after = (
        sender.send(queue, 1),
        sender.send(queue, "y", deduplication_id="used"),
        sender.send(queue, 2),
    )
    unknown = sender.send("nowhere", 3)
    sender.flush()

    with pytest.raises(DeduplicationConflict) as conflict:
        refused.result()
    with pytest.raises(QueueNotFound):
        unknown.result()
    assert conflict.value.first_message_id == first
    assert before.result() < after.result()
    assert payloads(client, queue) == ["x", 1, 2]


def test_wrong_arguments_are_refused_at_once(sender, queue):
    with pytest.raises(InvalidArgument) as caught:
        sender.send(queue, 1, priority=32768)
    assert caught.value.field == "priority"


def test_a_cancelled_message_is_not_sent(client, sender, queue):
    kept, cancelled = sender.send(queue, 1), sender.send(queue, 2)
    assert cancelled.cancel()
    sender.flush()
    assert kept.done()
    assert payloads(client, queue) == [1]


def test_closing_sends_what_waits(client, queue):
    sender = Sender(client, delay=LONG)
    ids = [sender.send(queue, number) for number in range(3)]
    sender.close()
    sender.close()
    assert all(future.done() for future in ids)
    assert payloads(client, queue) == [0, 1, 2]
    with pytest.raises(RuntimeError, match="closed"):
        sender.send(queue, 4)


def test_when_too_many_wait_send_waits(client, queue):
    """The client's own lock holds up the first batch, so that nothing leaves the sender."""
    with Sender(client, delay=LONG, batch=1, capacity=1) as sender, ThreadPoolExecutor() as pool:
        with client._connections.borrow():
            under_way = sender.send(queue, 1)
            waiting = pool.submit(sender.send, queue, 2)
            held_up = pool.submit(sender.send, queue, 3)
            further = pool.submit(sender.send, queue, 4)
            assert not under_way.done()
            assert sum(call.done() for call in (waiting, held_up, further)) <= 1
        assert [call.result(PATIENCE_SECONDS).result(PATIENCE_SECONDS) for call in (waiting, held_up, further)]
    assert sorted(payloads(client, queue)) == [1, 2, 3, 4]


def test_many_threads_share_a_sender(client, queue):
    with Sender(client) as sender, ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda number: sender.send(queue, number).result(PATIENCE_SECONDS), range(80)))
    assert len(set(ids)) == 80
    assert sorted(payloads(client, queue)) == list(range(80))


def test_a_lost_database_fails_every_message(dsn, queue):
    client = Client(dsn)
    with Sender(client, delay=LONG) as sender:
        ids = [sender.send(queue, number) for number in range(3)]
        client._connections = Lost()
        sender.flush()
    assert [type(future.exception()) for future in ids] == [DatabaseUnavailable] * 3


class Lost:
    """Client without a connection in its pool."""

    commits_each_call = True

    def borrow(self):
        raise psycopg.OperationalError("gone")


def test_a_callers_transaction_has_no_sender(connection):
    with pytest.raises(InvalidArgument) as caught:
        Sender(Client(connection))
    assert caught.value.field == "client"


def test_a_batch_must_fit(client):
    with pytest.raises(InvalidArgument):
        Sender(client, batch=0)
    assert not [thread for thread in threading.enumerate() if thread.name == "signalbox-sender"]


def test_a_large_message_goes_along(dsn, queue, tmp_path):
    large = "x" * 300_000
    with Client(dsn, bodies=FileBodies(tmp_path)) as client, Sender(client, delay=LONG) as sender:
        sender.send(queue, 1)
        sender.send(queue, large)
        sender.flush()
        assert payloads(client, queue) == [1, large]
