"""An expiry, a heartbeat and an ack meet on one lease (hazards 6 and 7): one wins, the others learn it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.naive import NaiveVerbs
from tests.races.sessions import finish, start, until_waiting

Connect = Callable[..., psycopg.Connection[Any]]

BY_REPLACEMENT = {
    """extended as (
      update signalbox.lease l
      set deadline = m.deadline
      from moment m, given g""": """replaced as (
      delete from signalbox.lease l
      using given g""",
    """returning g.handle, l.deadline
    )""": """returning g.handle, l.*
    ), extended as (
      insert into signalbox.lease (message_id, queue_id, receive_count, priority, deadline, leased_at, nonce, consumer)
      select r.message_id, r.queue_id, r.receive_count, r.priority, m.deadline, r.leased_at, r.nonce, r.consumer
      from replaced r, moment m
      returning queue_id || '.' || message_id || '.' || nonce as handle, deadline
    )""",
}
"""A heartbeat that deletes the lease and inserts it again with the new deadline."""

EXTEND = "select deadline from signalbox.change_visibility_batch(array[%s], 60)"


def ack_during_a_heartbeat(
    engine: Engine, heart: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> list[bool]:
    """An extension is under way when the ack arrives; the ack waits for it."""
    engine.send("work")
    handle = engine.receive_one()[1]
    heart.connection.execute("begin")
    assert heart.value(EXTEND, handle) is not None
    acker = engine.on(connect())
    acking = start(acker.ack, handle)
    until_waiting(observer, acker.connection)
    heart.connection.execute("commit")
    return finish(acking)


def test_an_ack_during_a_heartbeat_counts(engine: Engine, connect: Connect, observer: psycopg.Connection[Any]) -> None:
    assert ack_during_a_heartbeat(engine, engine.on(connect()), connect, observer) == [True]
    assert engine.recounted() == (0, 0, 0, 0, 0)


def test_a_heartbeat_by_replacement_would_lose_the_ack(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any], naive: NaiveVerbs
) -> None:
    naive.install("change_visibility_batch", BY_REPLACEMENT)

    assert ack_during_a_heartbeat(engine, naive.engine(engine, connect()), connect, observer) == [False]
    assert engine.recounted() == (0, 0, 1, 0, 0)


@pytest.mark.parametrize(
    "verb",
    [
        "select acked from signalbox.ack(array[%s])",
        "select signalbox.nack(%s) is not null",
        "select signalbox.change_visibility(%s, 60) is not null",
        "select signalbox.change_visibility(%s, 0) is not null",
    ],
    ids=["ack", "nack", "extend", "give back"],
)
@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_of_an_ack_and_another_verb_one_wins(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any], verb: str, ends: str
) -> None:
    engine.send("work")
    handle = engine.receive_one()[1]
    first, second = engine.on(connect()), engine.on(connect())
    first.connection.execute("begin")
    assert first.ack(handle) == [True]
    trying = start(second.value, verb, handle)
    until_waiting(observer, second.connection)
    first.connection.execute(ends.encode())

    assert finish(trying) is (ends == "rollback")
    assert engine.counted() == engine.recounted()


def expired_lease(engine: Engine) -> str:
    """Lease past its deadline that is not returned yet."""
    engine.send("work")
    handle: str = engine.receive_one(visibility_timeout=0)[1]
    return handle


def test_an_expired_lease_under_extension_stays_with_its_consumer(engine: Engine, connect: Connect) -> None:
    handle = expired_lease(engine)
    heart = engine.on(connect())
    heart.connection.execute("begin")
    assert heart.value(EXTEND, handle) is not None

    assert engine.receive(10) == []  # and does not wait for the heartbeat

    heart.connection.execute("commit")
    assert engine.receive(10) == []
    assert engine.ack(handle) == [True]


def test_an_expired_lease_under_ack_is_not_delivered(engine: Engine, connect: Connect) -> None:
    handle = expired_lease(engine)
    acker = engine.on(connect())
    acker.connection.execute("begin")
    assert acker.ack(handle) == [True]

    assert engine.receive(10) == []

    acker.connection.execute("commit")
    assert engine.receive(10) == []
    assert engine.recounted() == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("ends", ["commit", "rollback"])
@pytest.mark.parametrize(
    "verb",
    ["select acked from signalbox.ack(array[%s])", "select signalbox.change_visibility(%s, 60) is not null"],
    ids=["ack", "extend"],
)
def test_a_verb_that_meets_an_expiry_learns_the_winner(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any], verb: str, ends: str
) -> None:
    handle = expired_lease(engine)
    receiver, consumer = engine.on(connect()), engine.on(connect())
    receiver.connection.execute("begin")
    assert len(receiver.receive(10)) == 1
    trying = start(consumer.value, verb, handle)
    until_waiting(observer, consumer.connection)
    receiver.connection.execute(ends.encode())

    assert finish(trying) is (ends == "rollback")
    assert engine.counted() == engine.recounted()


def test_two_receivers_share_the_expired_leases(engine: Engine, connect: Connect) -> None:
    for number in range(6):
        engine.send(number)
    engine.receive(10, visibility_timeout=0)
    first, second = engine.on(connect()), engine.on(connect())
    first.connection.execute("begin")
    taken = [row[0] for row in first.receive(3)]  # returned all six, and claimed three of them

    assert second.receive(10) == []  # not committed yet; receives do not wait

    first.connection.execute("commit")
    rest = [row[0] for row in second.receive(10)]
    assert len(set(taken) | set(rest)) == 6
    assert not set(taken) & set(rest)


def test_an_expired_delivery_is_counted_and_its_handle_is_worth_nothing(engine: Engine) -> None:
    handle = expired_lease(engine)
    message_id, newer, receive_count, *_ = engine.receive_one()

    assert receive_count == 2
    assert engine.ack(handle) == [False]
    assert engine.nack(handle) is None
    assert engine.value("select signalbox.change_visibility(%s, 60)", handle) is None
    assert engine.value("select signalbox.change_visibility(%s, 0)", handle) is None
    assert engine.value("select message_id from signalbox.lease where message_id = %s", message_id) == message_id
    assert engine.ack(newer) == [True]
    assert engine.value("select array_agg(reason) from signalbox.failure where message_id = %s", message_id) == [
        "lock_expired"
    ]


def test_a_shorter_visibility_takes_effect_at_once(engine: Engine) -> None:
    engine.send("work")
    handle = engine.receive_one(visibility_timeout=3600)[1]
    engine.value("select signalbox.change_visibility(%s, 0.000001)", handle)

    assert len(engine.receive(10)) == 1
