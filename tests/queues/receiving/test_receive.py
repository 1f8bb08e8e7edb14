"""Guarantees for a consumer that receives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

from tests.engine import Engine


def test_receive_skips_messages_that_others_hold(
    engine: Engine, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    first, second = engine.send(1), engine.send(2)
    other = connect(autocommit=False)

    assert [row[0] for row in engine.on(other).receive(1)] == [first]  # not committed yet
    assert [row[0] for row in engine.receive(10)] == [second]


def test_messages_come_in_the_order_they_became_visible(engine: Engine) -> None:
    sent = [engine.send(number) for number in range(20)]

    assert [row[0] for _ in range(4) for row in engine.receive(5)] == sent


def test_an_expired_lease_is_delivered_again_and_counted(engine: Engine) -> None:
    message_id = engine.send("x")
    first = engine.receive_one(visibility_timeout=0)

    second = engine.receive_one()

    assert (second[0], second[2]) == (message_id, 2)
    assert engine.ack(first[1], second[1]) == [False, True]
    assert engine.rows("select reason, consumer from signalbox.failure where message_id = %s", message_id) == [
        ("lock_expired", None)
    ]


def test_a_message_whose_last_lease_expires_is_dead(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(max_receives=1)
    message_id = engine.send("x")
    engine.receive_one(visibility_timeout=0)

    assert engine.receive(10) == []
    assert engine.rows(
        "select reason, receive_count, payload from signalbox.dead_letter where message_id = %s", message_id
    ) == [("lock_expired", 1, "x")]


def test_a_paused_queue_hands_out_nothing_and_accepts(engine: Engine) -> None:
    engine.rows("select signalbox.configure_queue(%s, '{\"paused\": true}')", engine.queue)
    engine.send("x")
    assert engine.receive(10) == []

    engine.rows("select signalbox.configure_queue(%s, '{\"paused\": false}')", engine.queue)
    assert len(engine.receive(10)) == 1


def test_the_receiver_is_seen(engine: Engine) -> None:
    engine.send("x")
    engine.receive_one(consumer="worker-7")

    assert engine.rows("select consumer from signalbox.consumer where queue_id = %s", engine.queue_id) == [
        ("worker-7",)
    ]
    assert engine.rows("select consumer from signalbox.lease where queue_id = %s", engine.queue_id) == [("worker-7",)]


def test_a_receiver_that_another_session_has_just_seen_is_not_written_again(
    engine: Engine, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    """Sessions behind a pooler are shared: they mostly remember other clients."""

    def seen(ago: str) -> bool:
        """Receive in a new session, from a row of this age."""
        before = engine.value(
            "update signalbox.consumer set last_seen_at = now() - %s::interval where queue_id = %s"
            " returning last_seen_at",
            ago,
            engine.queue_id,
        )
        engine.on(connect()).receive(consumer="worker-7")
        look = "select last_seen_at from signalbox.consumer where queue_id = %s"
        return bool(engine.value(look, engine.queue_id) != before)

    engine.receive(consumer="worker-7")

    assert not seen("-1 hour")  # not yet old, however long this takes
    assert seen("6 s")


def test_a_dead_letter_queue_can_be_received_from(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(max_receives=1)
    engine.die({"a": 1}, error_class="ValueError", error="no")
    letters = Engine(
        engine.connection,
        f"{engine.queue}-dlq",
        engine.value("select queue_id from signalbox.queue where name = %s", f"{engine.queue}-dlq"),
    )

    (row,) = letters.rows("select receipt_handle, payload, attributes from signalbox.receive(%s, 10)", letters.queue)

    assert row[1] == {"a": 1}
    assert row[2]["dead_letter"]["queue"] == engine.queue
    assert row[2]["dead_letter"]["error_class"] == "ValueError"
    assert engine.rows("select 1 from signalbox.dead_letter where source_queue_id = %s", engine.queue_id) == []
    assert letters.ack(row[0]) == [True]
    for side in (engine, letters):
        assert side.counted() == side.recounted() == (0, 0, 0, 0, 0)


def test_a_message_that_dies_again_in_a_dead_letter_queue_stays_there(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(max_receives=1)
    engine.die("x")
    letters = Engine(engine.connection, f"{engine.queue}-dlq", 0)
    (row,) = letters.receive(1)

    assert letters.nack(row[1], reason="rejected") == "dead"
    assert engine.rows(
        "select source_queue from signalbox.dead_letter d join signalbox.queue q using (queue_id) where q.name = %s",
        letters.queue,
    ) == [(letters.queue,)]
