"""The verbs through the synchronous client, over each kind of source."""

from __future__ import annotations

from datetime import UTC, timedelta

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from signalbox import Client, InvalidArgument, OpenTransaction, QueueNotFound
from signalbox.errors import (
    DeduplicationConflict,
    PayloadTooLarge,
    QueueClosed,
    WrongIsolation,
)


def test_a_message_comes_back_as_it_was_sent(client, queue):
    payload = {"id": 7, "text": "Größe ☃ \\u0000", "list": [1.5, None, True]}
    message_id = client.send(queue, payload, attributes={"kind": "order"}, priority=3, group_id="g", trace_id="t")
    (message,) = client.receive(queue)
    assert message.id == message_id
    assert message.payload == payload
    assert message.attributes == {"kind": "order"}
    assert (message.priority, message.group_id, message.receive_count) == (3, "g", 1)
    assert message.sent_at.tzinfo is UTC
    assert message.deadline - message.sent_at >= timedelta(seconds=30)
    assert 20 < message.lease_seconds <= 30


def test_ack_settles_a_message_once(client, queue):
    client.send(queue, 1)
    (message,) = client.receive(queue)
    assert client.ack(message) is True
    assert client.ack(message.receipt_handle) is False
    assert client.receive(queue) == []


def test_ack_batch_answers_for_each_handle(client, queue):
    client.send_batch(queue, [1, 2])
    first, second = client.receive(queue, 2)
    client.ack(first)
    assert client.ack_batch([first, second]) == {first.receipt_handle: False, second.receipt_handle: True}
    assert client.ack_batch([]) == {}


def test_send_batch_keeps_order_and_options(client, queue):
    ids = client.send_batch(queue, ["a", "b"], priorities=[0, 9], attributes=[None, {"n": 1}])
    assert ids == sorted(ids)
    messages = {message.id: message for message in client.receive(queue, 10)}
    assert [messages[each].payload for each in ids] == ["a", "b"]
    assert messages[ids[1]].priority == 9
    assert messages[ids[1]].attributes == {"n": 1}
    assert client.send_batch(queue, []) == []


def test_ack_and_receive_does_both_in_one_call(client, queue):
    client.send_batch(queue, [1, 2, 3])
    first, second = client.receive(queue, 2)
    client.ack(second)

    acked, messages = client.ack_and_receive([first, second.receipt_handle], queue, 5, consumer="c")

    assert acked == {first.receipt_handle: True, second.receipt_handle: False}
    assert [message.payload for message in messages] == [3]
    assert client.ack_and_receive(messages, queue) == ({messages[0].receipt_handle: True}, [])
    assert client.ack_and_receive([], queue) == ({}, [])


def test_nack_returns_the_outcome_of_the_message(client, make_queue):
    queue = make_queue(max_receives=2)
    client.send(queue, 1)
    (message,) = client.receive(queue)
    assert client.nack(message, delay_seconds=0, error_class="E", error="bad \x00", details="stack") == "retry"
    (message,) = client.receive(queue)
    assert message.receive_count == 2
    assert client.nack(message) == "dead"
    assert client.nack(message) is None


def test_rejected_messages_die_at_once(client, queue):
    client.send(queue, 1)
    (message,) = client.receive(queue)
    assert client.nack(message, reason="rejected") == "dead"


def test_a_delayed_message_is_not_delivered_yet(client, queue):
    client.send(queue, 1, delay_seconds=60)
    assert client.receive(queue) == []


def test_change_visibility_extends_and_gives_back(client, queue):
    client.send(queue, 1)
    (message,) = client.receive(queue)
    extended = client.change_visibility(message, 600)
    assert extended is not None
    assert extended > message.deadline
    assert client.change_visibility(message, 0) is not None
    assert client.change_visibility(message, 600) is None
    (again,) = client.receive(queue)
    assert again.id == message.id


def test_purge_takes_what_waits(client, queue):
    client.send_batch(queue, [1, 2, 3])
    client.send(queue, 4, delay_seconds=60)
    taken = 0
    while step := client.purge(queue, max_messages=2):
        taken += step
    assert taken == 4
    assert client.receive(queue, 10) == []


def test_create_queue_is_idempotent_and_configure_changes_it(client, queue):
    assert client.create_queue(queue) == client.configure_queue(queue, {"visibility_timeout_seconds": 120})
    client.send(queue, 1)
    assert client.receive(queue)[0].lease_seconds > 100


class TestRefusals:
    def test_unknown_queue(self, client):
        with pytest.raises(QueueNotFound, match="nowhere"):
            client.send("nowhere", 1)

    def test_invalid_setting_names_itself(self, client, queue):
        with pytest.raises(InvalidArgument) as caught:
            client.configure_queue(queue, {"max_receives": 0})
        assert caught.value.field == "max_receives"

    def test_payload_above_the_queues_limit(self, client, make_queue):
        queue = make_queue(max_payload_bytes=1024)
        with pytest.raises(PayloadTooLarge):
            client.send(queue, "x" * 2000)

    def test_closed_queue(self, client, make_queue):
        queue = make_queue(closed=True)
        with pytest.raises(QueueClosed):
            client.send(queue, 1)

    def test_deduplication_returns_the_first_and_refuses_another_body(self, client, queue):
        first = client.send(queue, {"n": 1}, deduplication_id="key")
        assert client.send(queue, {"n": 1}, deduplication_id="key") == first
        with pytest.raises(DeduplicationConflict) as caught:
            client.send(queue, {"n": 2}, deduplication_id="key")
        assert caught.value.first_message_id == first

    def test_receive_under_repeatable_read(self, connection, queue):
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with pytest.raises(WrongIsolation):
            Client(connection).receive(queue, allow_open_transaction=True)

    def test_what_is_no_receipt_handle(self, client):
        with pytest.raises(InvalidArgument):
            client.ack("nonsense")

    def test_a_refusal_leaves_the_client_usable(self, client, queue):
        with pytest.raises(QueueNotFound):
            client.receive("nowhere")
        assert client.send(queue, 1) > 0


class TestCallersTransaction:
    def test_a_send_is_sent_when_the_caller_commits(self, client, connection, queue):
        Client(connection).send(queue, 1)
        assert client.receive(queue) == []
        connection.commit()
        assert len(client.receive(queue)) == 1

    def test_a_rolled_back_send_leaves_nothing(self, client, connection, queue):
        Client(connection).send_batch(queue, [1, 2])
        connection.rollback()
        assert client.receive(queue) == []
        (totals,) = connection.execute(
            "select count(*) from signalbox.message m join signalbox.queue q using (queue_id) where q.name = %s",
            [queue],
        ).fetchone()
        assert totals == 0

    def test_an_ack_joins_too(self, client, connection, queue):
        client.send(queue, 1)
        (message,) = client.receive(queue)
        assert Client(connection).ack(message) is True
        connection.rollback()
        assert client.ack(message) is True

    def test_receive_is_refused_where_the_transaction_stays_open(self, connection, queue):
        with pytest.raises(OpenTransaction, match="committed before the work starts"):
            Client(connection).receive(queue)
        connection.autocommit = True
        with connection.transaction(), pytest.raises(OpenTransaction):
            Client(connection).receive(queue)

    def test_receive_is_allowed_on_an_idle_autocommit_connection(self, connection, queue):
        connection.autocommit = True
        client = Client(connection)
        client.send(queue, 1)
        assert len(client.receive(queue, durable=False)) == 1

    def test_receive_in_an_open_transaction_must_be_asked_for_and_durable(self, connection, queue):
        client = Client(connection)
        client.send(queue, 1)
        connection.commit()
        with pytest.raises(InvalidArgument) as caught:
            client.receive(queue, allow_open_transaction=True, durable=False)
        assert caught.value.field == "durable"
        assert len(client.receive(queue, allow_open_transaction=True)) == 1
        (setting,) = connection.execute("show synchronous_commit").fetchone()
        assert setting == "on"

    def test_a_callers_row_factory_and_closing_do_not_matter(self, connection, queue):
        connection.row_factory = dict_row
        with Client(connection) as client:
            client.send(queue, 1)
        assert not connection.closed


def test_a_pool_commits_each_call(dsn, queue):
    with ConnectionPool(dsn, min_size=1, max_size=2, open=True) as pool:
        client = Client(pool)
        client.send(queue, {"n": 1})
        (message,) = client.receive(queue, durable=False)
        assert client.ack(message)


def test_a_lost_connection_is_replaced_before_the_next_call(dsn, connection, queue):
    with Client(dsn, application_name="to be terminated") as client:
        client.send(queue, 1)
        connection.execute(
            "select pg_terminate_backend(pid, 60000) from pg_stat_activity where application_name = %s",
            ["to be terminated"],
        )
        assert client.send(queue, 2) > 0
