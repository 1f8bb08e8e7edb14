"""A deduplication id is one message within its window, whatever the concurrency (hazard 14, invariant 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.naive import SCHEMA, NaiveVerbs
from tests.races.sessions import finish, start, until_waiting

Connect = Callable[..., psycopg.Connection[Any]]

SEND_BATCH = (
    "select array_agg(id) from signalbox.send_batch(%s, array_fill('1'::jsonb, array[cardinality(%s::text[])]),"
    " deduplication_ids => %s) id"
)


def send_twice(first: Engine, second: Engine, observer: psycopg.Connection[Any]) -> tuple[int, int]:
    """The second sender comes while the first has not committed, and waits for it."""
    first.connection.execute("begin")
    first_id = first.send("body", deduplication_id="key")
    sending = start(second.send, "body", deduplication_id="key")
    until_waiting(observer, second.connection)
    first.connection.execute("commit")
    return first_id, finish(sending)


def test_the_second_of_two_senders_gets_the_first_ones_message(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    first_id, second_id = send_twice(engine.on(connect()), engine.on(connect()), observer)

    assert second_id == first_id
    assert [row[0] for row in engine.receive(10)] == [first_id]


def test_without_the_lock_both_would_send(engine: Engine, connect: Connect, naive: NaiveVerbs) -> None:
    naive.install("_deduplicate", {"perform pg_advisory_xact_lock(p_queue_id, hashtext(p_deduplication_id));": ""})
    naive.install("_send_message", {})
    naive.install("send", {})
    first, second = naive.engine(engine, connect()), naive.engine(engine, connect())
    first.connection.execute("begin")
    first_id = first.send("body", deduplication_id="key")
    second_id = second.send("body", deduplication_id="key")
    first.connection.execute("commit")

    assert second_id != first_id
    assert len(engine.receive(10)) == 2


def test_in_one_statement_the_second_sender_would_be_answered_with_nothing(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any], naive: NaiveVerbs
) -> None:
    """INSERT ... ON CONFLICT DO NOTHING waits for the other, and the SELECT beside it looks with an older snapshot."""
    naive.connection.execute(
        f"create table {SCHEMA}.dedup (deduplication_id text primary key, message_id bigint);"
        f"create sequence {SCHEMA}.message_id"
    )
    statement = (
        f"with sent as (insert into {SCHEMA}.dedup values ('key', nextval('{SCHEMA}.message_id'))"
        " on conflict do nothing returning message_id) select message_id from sent"
        f" union all select message_id from {SCHEMA}.dedup where deduplication_id = 'key'"
    )
    first, second = engine.on(connect()), engine.on(connect())
    first.connection.execute("begin")
    assert first.value(statement) == 1
    sending = start(second.value, statement)
    until_waiting(observer, second.connection)
    first.connection.execute("commit")

    assert finish(sending) is None


def test_the_second_sends_when_the_first_is_rolled_back(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    first, second = engine.on(connect()), engine.on(connect())
    first.connection.execute("begin")
    first_id = first.send("of the first", deduplication_id="key")
    sending = start(second.send, "of the second", deduplication_id="key")
    until_waiting(observer, second.connection)
    first.connection.execute("rollback")

    second_id = finish(sending)

    assert second_id != first_id
    assert [row[3] for row in engine.receive(10)] == ["of the second"]
    assert engine.counted() == engine.recounted()


def test_another_body_under_the_same_id_returns_the_first_message(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    first, second = engine.on(connect()), engine.on(connect())
    first.connection.execute("begin")
    first_id = first.send("one body", deduplication_id="key")
    sending = start(second.send, "another body", deduplication_id="key")
    until_waiting(observer, second.connection)
    first.connection.execute("commit")

    with pytest.raises(psycopg.Error) as caught:
        finish(sending)

    assert caught.value.sqlstate == "SB409"
    assert caught.value.diag.message_detail == str(first_id)
    assert len(engine.receive(10)) == 1


def across_the_hour(engine: Engine, sender: Engine) -> tuple[int, int]:
    """A message sent just before the hour, its duplicate just after."""
    first_id = engine.send("body", deduplication_id="key")
    # The row moves to the partition of another hour, and its window goes on.
    engine.rows(
        "update signalbox.dedup set sent_at = date_trunc('hour', clock_timestamp()) - interval '0.1 second'"
        " where queue_id = %s returning 1",
        engine.queue_id,
    )
    return first_id, sender.send("body", deduplication_id="key")


def test_a_window_goes_on_across_the_hour(engine: Engine) -> None:
    first_id, second_id = across_the_hour(engine, engine)

    assert second_id == first_id


def test_a_window_of_the_current_hour_alone_would_end_with_it(engine: Engine, naive: NaiveVerbs) -> None:
    naive.install(
        "_deduplicate",
        {"d.expires_at > clock_timestamp()": "d.sent_at >= date_trunc('hour', clock_timestamp())"},
    )
    naive.install("_send_message", {})
    naive.install("send", {})

    first_id, second_id = across_the_hour(engine, naive.engine(engine))

    assert second_id != first_id


def test_after_the_window_the_id_is_free_and_a_new_window_begins(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(dedup_window_seconds=3600)
    first_id = engine.send("body", deduplication_id="key")
    engine.rows(
        "update signalbox.dedup set expires_at = clock_timestamp() where queue_id = %s returning 1", engine.queue_id
    )

    second_id = engine.send("another body", deduplication_id="key")

    assert second_id != first_id
    assert engine.send("another body", deduplication_id="key") == second_id


def test_the_id_of_a_message_that_was_acked_or_died_stays_taken(engine: Engine) -> None:
    acked = engine.send("body", deduplication_id="acked")
    engine.ack(engine.receive_one()[1])
    dead = engine.send("body", deduplication_id="dead")
    engine.nack(engine.receive_one()[1], reason="rejected")

    assert engine.send("body", deduplication_id="acked") == acked
    assert engine.send("body", deduplication_id="dead") == dead
    assert engine.receive(10) == []


def test_the_same_id_twice_in_a_batch_is_one_message(engine: Engine) -> None:
    keys = ["a", "b", "a", "b", "a"]

    ids = engine.value(SEND_BATCH, engine.queue, keys, keys)

    assert ids == [ids[0], ids[1], ids[0], ids[1], ids[0]]
    assert len(engine.receive(10)) == 2


def overlapping_batches(
    sessions: list[Engine], connect: Connect, observer: psycopg.Connection[Any]
) -> list[list[int] | None]:
    """Two batches with the same ids in opposite orders, held up in the middle; None is a deadlock."""
    keys = ["a", "b", "c"]
    engine = sessions[0]
    holder = connect()
    holder.execute("begin")
    holder.execute("select pg_advisory_xact_lock(%s, hashtext('b'))", [engine.queue_id])
    calls = []
    for session, order in zip(sessions, (keys, keys[::-1]), strict=True):
        calls.append(start(session.value, SEND_BATCH, session.queue, order, order))
        until_waiting(observer, session.connection)
    holder.execute("commit")
    outcomes: list[list[int] | None] = []
    for call in calls:
        try:
            outcomes.append(finish(call))
        except psycopg.errors.DeadlockDetected:
            outcomes.append(None)
    return outcomes


def test_batches_with_the_same_ids_in_opposite_orders_do_not_deadlock(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    first, second = overlapping_batches([engine.on(connect()), engine.on(connect())], connect, observer)

    assert first is not None
    assert second == first[::-1]


def test_batches_that_lock_as_they_go_would_deadlock(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any], naive: NaiveVerbs
) -> None:
    naive.install("send_batch", {"perform pg_advisory_xact_lock(v_queue_id, k.lock)": "perform k.lock"})
    sessions = [naive.engine(engine, connect()) for _ in range(2)]
    for session in sessions:
        session.connection.execute("set deadlock_timeout = '20ms'")

    assert None in overlapping_batches(sessions, connect, observer)


def test_many_senders_of_few_ids_send_each_once(engine: Engine, connect: Connect) -> None:
    senders = [engine.on(connect()) for _ in range(4)]

    def send_all(sender: Engine) -> list[int]:
        return [sender.send(number % 5, deduplication_id=str(number % 5)) for number in range(25)]

    answers = [finish(call) for call in [start(send_all, sender) for sender in senders]]

    assert all(answer == answers[0] for answer in answers)
    assert sorted({message_id for answer in answers for message_id in answer}) == sorted(
        row[0] for row in engine.receive(100)
    )
    assert engine.value("select totals[21] from signalbox.queue_totals(array[%s])", engine.queue_id) == 95
    assert engine.counted() == engine.recounted()


def test_a_rolled_back_send_leaves_no_id_behind(engine: Engine, connect: Connect) -> None:
    sender = engine.on(connect())
    sender.connection.execute("begin")
    sender.send("body", deduplication_id="key")
    sender.connection.execute("rollback")

    engine.send("another body", deduplication_id="key")

    assert [row[3] for row in engine.receive(10)] == ["another body"]


def test_a_batch_sent_again_returns_the_first_messages(engine: Engine) -> None:
    """Batch with some new ids, in another order: repeats have the id of the first, and only new ones are sent."""
    first = engine.value(SEND_BATCH, engine.queue, ["a", "b", "c"], ["a", "b", "c"])
    again = engine.value(SEND_BATCH, engine.queue, ["c", "d", "a"], ["c", "d", "a"])

    assert again == [first[2], again[1], first[0]]
    assert again[1] not in first
    assert len(engine.receive(10)) == 4
