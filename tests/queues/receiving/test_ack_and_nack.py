"""Outcomes of a message whose consumer finishes or fails."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest

from tests.engine import Engine


def test_an_acked_message_never_comes_back(engine: Engine) -> None:
    message_id = engine.send("x")
    handle = engine.receive_one()[1]

    assert engine.ack(handle) == [True]
    assert engine.ack(handle) == [False]
    assert engine.receive(10) == []
    assert engine.rows("select status, attempts from signalbox.message_status where message_id = %s", message_id) == [
        ("completed", 1)
    ]


def test_handles_are_answered_in_the_order_given(engine: Engine) -> None:
    for number in range(4):
        engine.send(number)
    handles = [row[1] for row in engine.receive(4)]
    unknown = f"{engine.queue_id}.1.{uuid4()}"

    assert engine.ack(handles[2], unknown, handles[0]) == [True, False, True]


def test_an_ack_needs_the_nonce_and_the_queue(make_engine: Callable[..., Engine]) -> None:
    engine, other = make_engine(), make_engine()
    engine.send("x")
    queue_id, message_id, nonce = engine.receive_one()[1].split(".")

    assert engine.ack(f"{queue_id}.{message_id}.{uuid4()}", f"{other.queue_id}.{message_id}.{nonce}") == [False, False]
    assert engine.counted()[2] == 1


@pytest.mark.parametrize("off_by", ["-60 days", "60 days"])
@pytest.mark.parametrize("count", [1, 2])
def test_an_ack_does_not_mind_a_clock_that_was_set(engine: Engine, count: int, off_by: str) -> None:
    for _ in range(count):
        engine.send()
    handles = [row[1] for row in engine.receive(count)]
    engine.connection.execute(
        "update signalbox.lease set leased_at = leased_at + %s::interval where queue_id = %s", (off_by, engine.queue_id)
    )

    assert engine.ack(*handles) == [True] * count


def test_a_nacked_message_backs_off_and_comes_back(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(backoff_base_seconds=100, jitter=0)
    message_id = engine.send("x")

    assert engine.nack(engine.receive_one()[1], error_class="ValueError", error="no", details="stack") == "retry"
    assert engine.receive(10) == []
    assert (
        40
        < engine.value(
            "select extract(epoch from due_at - clock_timestamp()) from signalbox.scheduled where message_id = %s",
            message_id,
        )
        <= 100
    )
    assert engine.rows("select status, last_error from signalbox.message_status where message_id = %s", message_id) == [
        ("failed", "no")
    ]


def test_backoff_doubles_up_to_its_cap_less_a_random_share(engine: Engine) -> None:
    pauses = [
        engine.value("select signalbox.backoff_seconds(%s, 2, 60, 0)", receive_count) for receive_count in range(1, 8)
    ]
    assert pauses == [2, 4, 8, 16, 32, 60, 60]
    assert engine.value("select signalbox.backoff_seconds(30000, 2, 60, 0)") == 60

    drawn = {engine.value("select signalbox.backoff_seconds(3, 2, 60, 0.5)") for _ in range(50)}
    assert len(drawn) > 10
    assert all(4 <= pause <= 8 for pause in drawn)


def test_a_nack_without_delay_is_delivered_at_once(engine: Engine) -> None:
    engine.send("x")
    engine.nack(engine.receive_one()[1], delay_seconds=0)

    assert engine.receive_one()[2] == 2


def test_a_message_dies_when_its_deliveries_are_used_up(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(max_receives=2)
    message_id = engine.send({"a": 1}, attributes={"k": "v"}, trace_id="t")

    assert engine.nack(engine.receive_one()[1], delay_seconds=0, error_class="E1", error="first") == "retry"
    assert engine.nack(engine.receive_one(consumer="w")[1], error_class="E2", error="second", details="stack") == "dead"

    (letter,) = engine.rows(
        "select payload, attributes, trace_id, receive_count, reason, error_class, error, details, consumer,"
        " source_queue,"
        " first_failed_at < last_failed_at from signalbox.dead_letter where message_id = %s",
        message_id,
    )
    assert letter == (
        {"a": 1},
        {"k": "v"},
        "t",
        2,
        "runtime_error",
        "E2",
        "second",
        "stack",
        "w",
        engine.queue,
        True,
    )
    assert engine.rows(
        "select error_class from signalbox.failure where message_id = %s order by failed_at", message_id
    ) == [
        ("E1",),
        ("E2",),
    ]


def test_a_rejected_message_dies_at_once(engine: Engine) -> None:
    engine.send("x")

    assert engine.nack(engine.receive_one()[1], reason="rejected") == "dead"
    assert engine.counted() == (0, 0, 0, 1, 0)


def test_dead_letters_go_to_the_queue_that_the_settings_name(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(dead_letter_queue="scene")
    engine.die("x")

    assert engine.rows(
        "select q.name, q.is_dead_letter_queue from signalbox.dead_letter d join signalbox.queue q using (queue_id)"
        " where d.source_queue_id = %s",
        engine.queue_id,
    ) == [("scene", True)]


def test_failures_alike_share_a_fingerprint(engine: Engine) -> None:
    def fingerprint(*failure: str) -> str:
        return str(engine.value("select signalbox.fingerprint(%s, %s, %s)", *failure))

    one = fingerprint("runtime_error", "Timeout", "POST 'a' timed out after 5001 ms")
    assert one == fingerprint("runtime_error", "Timeout", "POST 'b' timed out after 77 ms")
    assert one != fingerprint("runtime_error", "Refused", "POST 'a' timed out after 5001 ms")
    assert one != fingerprint("runtime_error", "Timeout", "GET 'a' timed out after 5001 ms")


def test_a_heartbeat_keeps_the_lease_and_its_handle(engine: Engine) -> None:
    engine.send("x")
    handle = engine.receive_one(visibility_timeout=1)[1]

    deadline = engine.value("select signalbox.change_visibility(%s, 100)", handle)

    assert 40 < engine.value("select extract(epoch from %s - clock_timestamp())", deadline) <= 100
    assert engine.ack(handle) == [True]
    assert engine.value("select signalbox.change_visibility(%s, 100)", handle) is None


def test_a_message_given_back_is_claimable_and_has_not_failed(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(max_receives=1)
    message_id = engine.send("x")
    handle = engine.receive_one()[1]

    assert engine.value("select signalbox.change_visibility(%s, 0)", handle) is not None

    assert engine.rows("select 1 from signalbox.failure where message_id = %s", message_id) == []
    assert engine.receive_one()[0] == message_id


def test_many_leases_are_extended_in_one_call(engine: Engine) -> None:
    for number in range(3):
        engine.send(number)
    handles = [row[1] for row in engine.receive(3)]
    engine.ack(handles[1])

    rows = engine.rows(
        "select receipt_handle, deadline is null from signalbox.change_visibility_batch(%s, 60)", handles
    )

    assert rows == [(handles[0], False), (handles[1], True), (handles[2], False)]
