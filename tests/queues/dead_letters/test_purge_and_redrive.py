"""Removing messages, and sending dead ones again."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.engine import Engine


def test_purge_removes_what_exists_and_nothing_that_comes_after(engine: Engine) -> None:
    engine.send("ready")
    bound = engine.send("scheduled", delay_seconds=60)
    later = engine.send("later")

    assert engine.value("select signalbox.purge(%s, %s)", engine.queue, bound) == 2
    assert [row[0] for row in engine.receive(10)] == [later]


def test_purge_is_bounded_and_answers_zero_at_the_end(engine: Engine) -> None:
    for number in range(5):
        engine.send(number)

    purged = [
        engine.value("select signalbox.purge(%s, max_messages => 2)", engine.queue),
        engine.value("select signalbox.purge(%s, max_messages => 2)", engine.queue),
        engine.value("select signalbox.purge(%s, max_messages => 2)", engine.queue),
        engine.value("select signalbox.purge(%s, max_messages => 2)", engine.queue),
    ]
    assert purged == [2, 2, 1, 0]
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


def test_purge_leaves_leases_alone_unless_asked(engine: Engine) -> None:
    engine.send("x")
    handle = engine.receive_one()[1]

    assert engine.value("select signalbox.purge(%s)", engine.queue) == 0
    assert engine.value("select signalbox.purge(%s, states => '{leased}')", engine.queue) == 1
    assert engine.ack(handle) == [False]


def test_purging_a_dead_letter_queue_spares_what_dies_later(engine: Engine) -> None:
    survivor = engine.send("dies later")
    engine.die("first")
    bound = engine.value("select max(dead_letter_id) from signalbox.dead_letter")
    engine.value("select signalbox.change_visibility(%s, 0)", _handle(engine, survivor))
    engine.nack(engine.receive_one()[1], reason="rejected")

    purged = engine.value(
        "select signalbox.purge(%s, states => '{dead}', through_dead_letter_id => %s)", f"{engine.queue}-dlq", bound
    )

    assert purged == 1
    assert engine.rows("select message_id from signalbox.dead_letter where source_queue_id = %s", engine.queue_id) == [
        (survivor,)
    ]
    assert engine.counted() == engine.recounted()


def _handle(engine: Engine, message_id: int) -> str:
    queue_id, nonce = engine.rows("select queue_id, nonce from signalbox.lease where message_id = %s", message_id)[0]
    return f"{queue_id}.{message_id}.{nonce}"


def test_a_redriven_message_keeps_its_id_and_starts_again(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(max_receives=2)
    dead_letter_id = engine.die({"a": 1})
    message_id = engine.value("select message_id from signalbox.dead_letter where dead_letter_id = %s", dead_letter_id)

    assert engine.rows("select * from signalbox.redrive(%s, actor => 'ann')", [dead_letter_id]) == [
        (dead_letter_id, message_id, engine.queue_id)
    ]
    assert engine.rows("select * from signalbox.redrive(%s)", [dead_letter_id]) == []

    (row,) = engine.receive(10)
    assert (row[0], row[2], row[3]) == (message_id, 1, {"a": 1})
    assert engine.nack(row[1], reason="rejected") == "dead"
    count, history = engine.rows(
        "select redrive_count, redrive_history from signalbox.dead_letter where message_id = %s", message_id
    )[0]
    assert count == 1
    assert history[0]["actor"] == "ann"


def test_a_redrive_may_go_to_another_queue(make_engine: Callable[..., Engine]) -> None:
    engine, target = make_engine(), make_engine()
    dead_letter_id = engine.die("x")

    engine.rows("select * from signalbox.redrive(%s, %s)", [dead_letter_id], target.queue)

    assert [row[3] for row in target.receive(10)] == ["x"]
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)
    assert target.counted() == target.recounted() == (0, 0, 1, 0, 0)


def test_a_redrive_to_a_closed_or_unknown_queue_moves_nothing(make_engine: Callable[..., Engine]) -> None:
    engine, closed = make_engine(), make_engine(closed=True)
    dead_letter_id = engine.die("x")

    for target, sqlstate in ((closed.queue, "SB423"), ("nowhere", "SB404")):
        with pytest.raises(psycopg.Error) as refused:
            engine.rows("select * from signalbox.redrive(%s, %s)", [dead_letter_id], target)
        assert refused.value.sqlstate == sqlstate
    assert engine.counted()[3] == 1


def test_a_dead_letter_queue_begins_with_what_its_queue_is_allowed(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(alert_dead_letters=25)
    engine.die()
    holder = f"{engine.queue}-dlq"
    allowed = "select alert_dead_letters from signalbox.queue where name = %s"
    assert engine.value(allowed, holder) == 25

    engine.value("select signalbox.configure_queue(%s, '{\"alert_dead_letters\": 3}')", holder)
    engine.die()
    assert engine.value(allowed, holder) == 3, "from then on it has a setting of its own"
