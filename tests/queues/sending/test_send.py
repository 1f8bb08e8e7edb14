"""Guarantees for a sender."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine


def test_a_sent_message_is_received_once(engine: Engine) -> None:
    message_id = engine.send({"order": 1})

    assert [(row[0], row[2], row[3]) for row in engine.receive(10)] == [(message_id, 1, {"order": 1})]
    assert engine.receive(10) == []


def test_a_rolled_back_send_leaves_nothing(engine: Engine, connect: Callable[..., psycopg.Connection[Any]]) -> None:
    caller = connect(autocommit=False)
    engine.on(caller).send({"order": 1})
    caller.rollback()

    assert engine.receive(10) == []
    assert engine.counted() == (0, 0, 0, 0, 0)


def test_everything_said_of_a_message_arrives(engine: Engine) -> None:
    engine.send({"a": 1}, attributes={"k": "v"}, priority=3, group_id="g", deduplication_id="d", trace_id="t")

    (row,) = engine.rows("select payload, attributes, group_id, priority from signalbox.receive(%s)", engine.queue)
    assert row == ({"a": 1}, {"k": "v"}, "g", 3)
    assert engine.rows(
        "select deduplication_id, trace_id from signalbox.message where queue_id = %s", engine.queue_id
    ) == [("d", "t")]


def test_a_delayed_message_rests_until_it_is_due(engine: Engine) -> None:
    engine.send("later", delay_seconds=3600)
    engine.send("at once", delay_seconds=0)

    assert [row[3] for row in engine.receive(10)] == ["at once"]
    assert engine.counted()[1] == 1

    engine.rows(
        "update signalbox.scheduled set due_at = clock_timestamp() where queue_id = %s returning 1", engine.queue_id
    )
    assert [row[3] for row in engine.receive(10)] == ["later"]


def test_a_queue_delays_by_its_setting_unless_the_sender_says(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(delay_seconds=3600)
    engine.send("rests")
    engine.send("does not", delay_seconds=0)

    assert [row[3] for row in engine.receive(10)] == ["does not"]


def test_higher_priority_comes_first(engine: Engine) -> None:
    for priority in (0, 100, 10, 32767, 4):
        engine.send(priority, priority=priority)

    assert [row[3] for row in engine.receive(10)] == [32767, 100, 10, 4, 0]


def test_a_queue_uses_at_most_a_thousand_priorities(engine: Engine) -> None:
    used = "insert into signalbox.claim_floor (queue_id, kind) select %s, p from generate_series(1, 999) p"
    engine.connection.execute(used, [engine.queue_id])
    with pytest.raises(psycopg.DatabaseError) as refused:
        engine.send(1, priority=32767)
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", "priority")
    engine.send(1, priority=999)
    assert engine.receive_one()[3] == 1


def test_waiting_is_worth_priority(make_engine: Callable[..., Engine]) -> None:
    aging, strict = make_engine(aging_seconds=10), make_engine(aging_seconds=0)
    for engine in (aging, strict):
        engine.send("old", priority=0)
        engine.rows(
            "update signalbox.ready set ready_at = ready_at - interval '60 seconds' where queue_id = %s returning 1",
            engine.queue_id,
        )
        engine.send("new", priority=5)

    assert aging.receive_one()[3] == "old"
    assert strict.receive_one()[3] == "new"


def test_a_deduplication_id_sends_one_message(engine: Engine) -> None:
    first = engine.send({"a": 1}, deduplication_id="k")

    assert engine.send({"a": 1}, deduplication_id="k") == first
    assert len(engine.receive(10)) == 1
    assert (
        engine.value(
            "select signalbox.event_total(totals, 'deduplicated') from signalbox.queue_totals(array[%s::integer])",
            engine.queue_id,
        )
        == 1
    )


def test_a_deduplication_id_with_another_body_names_the_first_message(engine: Engine) -> None:
    first = engine.send({"a": 1}, deduplication_id="k")

    with pytest.raises(psycopg.Error) as refused:
        engine.send({"a": 2}, deduplication_id="k")

    assert refused.value.sqlstate == "SB409"
    assert refused.value.diag.message_detail == str(first)


def test_deduplication_ends_with_its_window(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(dedup_window_seconds=60)
    first = engine.send("x", deduplication_id="k")
    engine.rows(
        "update signalbox.dedup set expires_at = clock_timestamp() where queue_id = %s returning 1", engine.queue_id
    )

    assert engine.send("x", deduplication_id="k") > first


def test_a_batch_returns_ids_in_the_order_of_its_payloads(engine: Engine) -> None:
    ids = [
        row[0]
        for row in engine.rows(
            "select signalbox.send_batch(%s, %s)", engine.queue, [Jsonb(number) for number in range(50)]
        )
    ]

    assert ids == sorted(ids)
    assert [row[3] for row in engine.receive(100)] == list(range(50))


def test_a_batch_takes_options_for_each_message(engine: Engine) -> None:
    ids = [
        row[0]
        for row in engine.rows(
            "select signalbox.send_batch(%s, %s, priorities => %s, deduplication_ids => %s)",
            engine.queue,
            [Jsonb("low"), Jsonb("high"), Jsonb("low")],
            [0, 9, 0],
            ["a", None, "a"],
        )
    ]

    assert ids[0] == ids[2]
    assert [row[3] for row in engine.receive(10)] == ["high", "low"]


def test_a_batch_is_all_or_nothing(engine: Engine) -> None:
    with pytest.raises(psycopg.Error):
        engine.rows(
            "select signalbox.send_batch(%s, %s, priorities => %s)", engine.queue, [Jsonb(1), Jsonb(2)], [0, 32768]
        )

    assert engine.receive(10) == []
    assert engine.counted() == (0, 0, 0, 0, 0)
