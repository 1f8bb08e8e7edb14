"""Limits on sending and receiving, each by itself: what is refused, with which numbers, and nothing half done."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine
from tests.queues.control.quotas import Connect, MakeEngine, evaluate, refusals, refused, send_batch
from tests.races.sessions import until

# Backlog


def test_a_full_queue_refuses_and_says_what_is_full(make_engine: MakeEngine) -> None:
    engine = make_engine(max_backlog_messages=3)
    for number in range(3):
        engine.send(number)

    assert refused(engine.send, "too many") == {
        "reason": "backlog",
        "limit": 3,
        "actual": 4,
        "retry_after": 1,
        "scope": "queue",
        "column": "max_backlog_messages",
    }
    assert engine.counted()[0] == 3
    assert refusals(engine) == {"backlog": 1}


def test_delayed_waiting_and_leased_messages_are_held_too(make_engine: MakeEngine) -> None:
    engine = make_engine(max_backlog_messages=4, group_max_in_flight=1)
    engine.send("delayed", delay_seconds=60)
    engine.send("first of its lane", group_id="a")
    engine.send("behind it", group_id="a")
    engine.receive_one()
    engine.send("ready")

    assert refused(engine.send, "too many")["actual"] == 5


def test_there_is_room_again_when_something_is_done(make_engine: MakeEngine) -> None:
    engine = make_engine(max_backlog_messages=1)
    engine.send("first")
    refused(engine.send, "second")
    engine.ack(engine.receive_one()[1])
    evaluate(engine)

    assert engine.send("second")


def test_without_upkeep_the_sender_looks_itself(make_engine: MakeEngine) -> None:
    """Only the senders evaluate quotas here, and none waits for a second to pass."""
    engine = make_engine(max_backlog_messages=1)
    engine.send("first")
    engine.ack(engine.receive_one()[1])

    def send() -> int | None:
        try:
            return engine.send("second")
        except psycopg.Error as error:
            assert error.sqlstate == "SB429"
            return None

    assert until(send, "a sender who finds room")


@pytest.mark.parametrize("upkeep", [False, True], ids=["by the sender", "by upkeep"])
def test_an_admission_counter_is_evaluated_though_the_clock_was_set_back(make_engine: MakeEngine, upkeep: bool) -> None:
    engine = make_engine(max_backlog_messages=1)
    engine.send("first")
    engine.ack(engine.receive_one()[1])
    later = (
        "select setval(evaluated, signalbox._now_ns() + 3600000000000)"
        " from signalbox.admission_counter where queue_id = %s"
    )
    engine.value(later, engine.queue_id)
    if upkeep:
        engine.value("select signalbox.estimate_sizes()")
        engine.value(later, engine.queue_id)
        engine.connection.execute("set default_transaction_isolation = 'repeatable read'")  # such a sender does not

    assert engine.send("second")


def test_what_dies_is_no_longer_held_and_what_is_redriven_is(make_engine: MakeEngine) -> None:
    engine = make_engine(max_backlog_messages=1)
    letter = engine.die("poison")
    evaluate(engine)
    engine.send("second")

    engine.value("select count(*) from signalbox.redrive(%s)", [letter])  # never refused: it was here before

    evaluate(engine)
    assert refused(engine.send, "third")["actual"] == 3


def test_a_changed_limit_holds_at_once(make_engine: MakeEngine) -> None:
    engine = make_engine(max_backlog_messages=100)
    engine.send("first")

    def limit(messages: int) -> None:
        engine.value(
            "select signalbox.configure_queue(%s, %s)", engine.queue, Jsonb({"max_backlog_messages": messages})
        )

    limit(1)
    assert refused(engine.send, "second")["limit"] == 1
    limit(2)
    engine.send("second")
    limit(0)
    assert [engine.send(number) for number in range(10)]


def test_a_limit_on_a_queue_that_is_full_already(engine: Engine) -> None:
    for number in range(5):
        engine.send(number)
    engine.value("select signalbox.configure_queue(%s, %s)", engine.queue, Jsonb({"max_backlog_messages": 3}))

    assert refused(engine.send, "too many")["actual"] == 6


def test_a_rolled_back_send_gives_its_room_back(make_engine: MakeEngine, connect: Connect) -> None:
    engine = make_engine(max_backlog_messages=2)
    sender = engine.on(connect(autocommit=False))
    sender.send("in vain")
    sender.send("in vain")
    sender.connection.rollback()

    evaluate(engine)  # sees them as under way, and sets a mark
    evaluate(engine)  # sees that all transactions of before the mark have ended

    assert engine.send("first")
    assert engine.send("second")
    assert refused(engine.send, "third")["actual"] == 3


# Bytes


def test_bytes_are_weighed_by_what_was_sent(make_engine: MakeEngine) -> None:
    engine = make_engine(max_backlog_bytes=100)
    for _ in range(10):
        engine.send("12345678")  # ten bytes of JSON

    details = refused(engine.send, 1)
    assert (details["reason"], details["limit"], details["actual"]) == ("bytes", 100, 101)
    handles = [row[1] for row in engine.receive(5)]
    engine.ack(*handles)
    evaluate(engine)
    assert (
        engine.value(
            "select signalbox._read_counter(bytes_held) from signalbox.admission_counter where queue_id = %s",
            engine.queue_id,
        )
        == 50
    )
    assert send_batch(engine, ["12345678"] * 5)


def test_the_mean_follows_what_is_sent_now(make_engine: MakeEngine) -> None:
    engine = make_engine(max_backlog_bytes=1_000_000)
    send_batch(engine, ["x" * 8] * 100)
    send_batch(engine, ["x" * 98] * 100)

    assert (
        engine.value(
            "select signalbox._read_counter(mean_bytes) from signalbox.admission_counter where queue_id = %s",
            engine.queue_id,
        )
        == 100
    )


def test_one_payload_above_the_limit_will_never_go(make_engine: MakeEngine) -> None:
    assert refused(make_engine(max_backlog_bytes=5).send, "too long") | {"column": ""} == {
        "reason": "bytes",
        "limit": 5,
        "actual": 10,
        "retry_after": None,
        "scope": "queue",
        "column": "",
    }


# Age


def test_a_queue_whose_oldest_waits_too_long_refuses(make_engine: MakeEngine) -> None:
    engine = make_engine(max_oldest_age_seconds=60)
    engine.send("waits")
    engine.send("too")
    engine.connection.execute(
        "update signalbox.ready set ready_at = ready_at - interval '2 minutes' where queue_id = %s", [engine.queue_id]
    )
    evaluate(engine)

    details = refused(engine.send, "third")
    assert (details["reason"], details["limit"], details["retry_after"]) == ("age", 60, 1)
    assert details["actual"] >= 120
    for _ in range(2):
        engine.ack(engine.receive_one()[1])
    evaluate(engine)
    assert engine.send("third")


# Rate


def test_a_second_s_worth_may_come_at_once(make_engine: MakeEngine) -> None:
    engine = make_engine(publish_rate_per_second=0.01)  # one, and the next in a hundred seconds
    engine.send("first")

    details = refused(engine.send, "second")
    assert (details["reason"], details["limit"], details["actual"]) == ("rate", 0.01, 2)
    assert 60 < details["retry_after"] <= 100


def test_tokens_come_back_with_time(make_engine: MakeEngine) -> None:
    engine = make_engine(publish_rate_per_second=0.01)
    engine.send("first")
    # A hundred seconds later, as far as the admission counter knows.
    engine.rows(
        "select setval(next_free, signalbox._read_counter(next_free) - 100000000000)"
        " from signalbox.admission_counter where queue_id = %s",
        engine.queue_id,
    )

    assert engine.send("second")
    refused(engine.send, "third")


def test_an_idle_queue_does_not_save_up(make_engine: MakeEngine) -> None:
    engine = make_engine(publish_rate_per_second=5)
    engine.rows(
        "select setval(next_free, 1) from signalbox.admission_counter where queue_id = %s", engine.queue_id
    )  # decades

    assert refused(send_batch, engine, [0] * 6)["actual"] == 6
    send_batch(engine, [0] * 5)


def test_a_refused_send_takes_no_token(make_engine: MakeEngine) -> None:
    engine = make_engine(publish_rate_per_second=0.02, max_backlog_messages=1)
    for _ in range(3):
        refused(send_batch, engine, [1, 2])

    assert engine.send("first")


# In flight


def test_no_more_is_handed_out_than_may_be_in_flight(make_engine: MakeEngine) -> None:
    engine = make_engine(max_in_flight=3)
    send_batch(engine, list(range(10)))

    first = engine.receive(2)
    second = engine.receive(2)
    assert (len(first), len(second), engine.receive(2)) == (2, 1, [])
    engine.ack(first[0][1])
    assert len(engine.receive(10)) == 1


def test_leases_that_ran_out_make_room(make_engine: MakeEngine) -> None:
    engine = make_engine(max_in_flight=1)
    message_id = engine.send("comes back")
    engine.receive_one(visibility_timeout=0)

    assert engine.receive_one()[0] == message_id


# Counting, and cost of unused features


def test_upkeep_notes_who_refuses(make_engine: MakeEngine) -> None:
    engine = make_engine(max_backlog_messages=1)
    engine.send("first")
    refused(engine.send, "second")
    refused(engine.send, "third")
    noted = "select reason, counted, refused_at is not null from signalbox.refusal where queue_id = %s and counted > 0"

    assert engine.value("select signalbox.estimate_sizes()") >= 1

    assert engine.rows(noted, engine.queue_id) == [("backlog", 2, True)]


def test_a_queue_that_no_limit_concerns_is_not_marked(engine: Engine, make_engine: MakeEngine) -> None:
    flags = "select admission_flags from signalbox.queue where queue_id = %s"

    assert engine.value(flags, engine.queue_id) == 0
    assert engine.value("select count(*) from signalbox.admission_counter where queue_id = %s", engine.queue_id) == 0
    marked = make_engine(max_in_flight=1, dedup_scope="in_flight", publish_rate_per_second=9)
    assert marked.value(flags, marked.queue_id) == 7


def test_an_unlimited_queue_executes_no_additional_statement(engine: Engine, connect: Connect) -> None:
    """Statistics of PostgreSQL show that no function of limits and held ids is called."""
    session = engine.on(connect())
    session.connection.execute("set track_functions = 'all'")
    called = (
        "select f.proname from pg_stat_xact_user_functions x join pg_proc f on f.oid = x.funcid"
        " where f.proname = any(%s) order by 1"
    )
    names = [
        "_admit", "_admit_batch", "_reserve", "_evaluate", "_free_in_flight", "_held_key", "_hold_key", "_release_keys",
        "_marked_nonce",
        "_is_marked",
    ]  # fmt: skip
    session.connection.execute("begin")
    session.send("one")
    send_batch(session, [1, 2])
    send_batch(session, [1, 2], priorities=[1, 2])
    handles = [row[1] for row in session.receive(10)]
    session.ack(handles[0])
    session.ack(*handles[1:])

    assert session.rows(called, names) == []
    session.connection.execute("rollback")


def test_a_limited_queue_does(make_engine: MakeEngine, connect: Connect) -> None:
    """Proof that the test before would notice a call."""
    engine = make_engine(max_backlog_messages=9)
    session = engine.on(connect())
    session.connection.execute("set track_functions = 'all'")
    session.connection.execute("begin")
    session.send("one")
    called = (
        "select count(*) from pg_stat_xact_user_functions x"
        " join pg_proc f on f.oid = x.funcid where f.proname = '_reserve'"
    )

    assert session.value(called) == 1


def test_a_sender_with_an_older_snapshot_is_admitted_by_what_others_have_evaluated(
    make_engine: MakeEngine, connect: Connect
) -> None:
    engine = make_engine(max_backlog_messages=2)
    sender = engine.on(connect())
    sender.connection.execute("begin isolation level repeatable read")
    sender.send("first")
    engine.send("second")

    assert refused(sender.send, "third")["actual"] == 3


@pytest.mark.parametrize("settings", [{"mode": "fifo"}, {"group_max_in_flight": 1}], ids=["fifo", "limited"])
def test_a_full_lane_takes_no_room_from_others(make_engine: MakeEngine, settings: dict[str, Any]) -> None:
    engine = make_engine(group_max_waiting=1, max_backlog_messages=2, **settings)
    engine.send("fills its lane", group_id="a")
    for _ in range(3):
        assert refused(engine.send, "too many", group_id="a")["reason"] == "lane"

    assert engine.send("of another", group_id="b")


def test_a_large_body_weighs_what_it_is(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(max_backlog_bytes=500_000)
    with engine.connection.transaction():
        engine.value("select signalbox.claim_body(sha256('large'), 300000)")
        engine.send(None, body_sha256=hashlib.sha256(b"large").digest())

    with pytest.raises(psycopg.Error) as caught, engine.connection.transaction():
        engine.rows(
            "select signalbox.send_batch(%s, array['1','null']::jsonb[], body_sha256s => array[null, sha256('large')])",
            engine.queue,
        )
    assert caught.value.diag.column_name == "max_backlog_bytes"
