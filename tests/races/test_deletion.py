"""Deletion of a queue never loses a message of a concurrent sender, however the sender ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine
from tests.races.sessions import finish, start, until_waiting

Connect = Callable[..., psycopg.Connection[Any]]
Made = Callable[..., Engine]

DELETE = "select signalbox.delete_queue(%s, %s)"
OPEN = "select signalbox.open_transactions()"


def configure(engine: Engine, **settings: Any) -> None:
    engine.value("select signalbox.configure_queue(%s, %s)", engine.queue, Jsonb(settings))


def refusal(engine: Engine, open_at_closing: list[str]) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as caught:
        engine.value(DELETE, engine.queue, open_at_closing)
    assert caught.value.sqlstate == "SB424"
    return caught.value


def test_a_send_that_commits_during_the_look_is_seen(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    """Send that commits after the tables were read, and before transactions are."""
    sender, keeper = engine.on(connect(autocommit=False)), connect(autocommit=False)
    sender.send("answered")
    configure(engine, closed=True)
    before = engine.value(OPEN)
    keeper.execute("lock table signalbox.consumer_group in access exclusive mode")  # looked at last of all tables
    deleter = engine.on(connect())
    deletion = start(refusal, deleter, before)
    until_waiting(observer, deleter.connection)
    sender.connection.commit()
    keeper.commit()

    assert "has messages" in str(finish(deletion))
    assert [row[3] for row in engine.receive(10)] == ["answered"]


def test_a_send_that_is_prepared_after_the_closing_is_waited_for(engine: Engine, connect: Connect) -> None:
    """Rename the queue during its deletion."""
    sender = connect()
    sender.execute("begin")
    engine.on(sender).send("answered")
    configure(engine, closed=True)
    before = engine.value(OPEN)
    sender.execute(f"prepare transaction '{engine.queue}'")
    try:
        assert "transaction that is open" in str(refusal(engine, before))
    finally:
        sender.execute(f"commit prepared '{engine.queue}'")
    assert [row[3] for row in engine.receive(10)] == ["answered"]


def test_a_closing_that_is_not_committed_is_none(engine: Engine) -> None:
    """The closing is uncommitted: concurrent senders find the queue open."""
    engine.connection.execute("begin")
    configure(engine, closed=True)
    assert "is not closed" in str(refusal(engine, []))
    engine.connection.rollback()


@pytest.mark.parametrize("what", ["message", "dead letter"])
def test_an_undo_that_began_after_the_closing_is_seen(engine: Engine, connect: Connect, what: str) -> None:
    removal = engine.value("select signalbox.open_trash_batch(3600)")
    if what == "message":
        engine.send("undone")
        engine.value("select signalbox.purge(%s, trash_batch_id => %s)", engine.queue, removal)
    else:
        letter = engine.die("undone")
        engine.value("select signalbox.delete_dead_letters(%s, %s)", [letter], removal)
    configure(engine, closed=True)
    before = engine.value(OPEN)
    restorer = engine.on(connect(autocommit=False))
    restored = restorer.rows("select restored from signalbox.restore(%s)", removal)

    assert "transaction that is open" in str(refusal(engine, before))
    restorer.connection.commit()
    assert restored == [(1,)]
    assert "has messages" in str(refusal(engine, before))


def test_an_undo_that_comes_second_leaves_its_messages_in_the_trash(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    engine.send("undone")
    removal = engine.value("select signalbox.open_trash_batch(3600)")
    engine.value("select signalbox.purge(%s, trash_batch_id => %s)", engine.queue, removal)
    configure(engine, closed=True)
    deleter, restorer = engine.on(connect(autocommit=False)), engine.on(connect())
    deleter.value(DELETE, engine.queue, [])
    restoring = start(restorer.rows, "select restored, skipped from signalbox.restore(%s)", removal)
    until_waiting(observer, restorer.connection)
    deleter.connection.commit()

    assert finish(restoring) == [(0, 1)]
    assert engine.value("select count(*) from signalbox.trash where trash_batch_id = %s", removal) == 1


def test_a_death_keeps_the_dead_letter_queue_that_it_found(make_engine: Made, connect: Connect) -> None:
    """Close, unlink and delete a dead-letter queue that an open transaction has found in use."""
    engine = make_engine()
    graves = f"{engine.queue}-graves"
    configure(engine, dead_letter_queue=graves)
    holder = Engine(engine.connection, graves, engine.value("select signalbox.create_queue(%s)", graves))
    engine.send("dying")
    handle = engine.receive_one()[1]
    configure(holder, closed=True)
    before = engine.value(OPEN)
    dying = engine.on(connect(autocommit=False))
    assert dying.nack(handle, reason="rejected") == "dead"
    configure(engine, dead_letter_queue=None)

    assert "transaction that is open" in str(refusal(holder, before))
    dying.connection.commit()
    assert "has messages" in str(refusal(holder, before))


def test_a_death_after_the_deletion_goes_where_the_settings_say(make_engine: Made, connect: Connect) -> None:
    """The deletion's transaction began before; it reads again when it holds the queue."""
    engine = make_engine()
    graves = f"{engine.queue}-graves"
    configure(engine, dead_letter_queue=graves)
    holder = Engine(engine.connection, graves, engine.value("select signalbox.create_queue(%s)", graves))
    engine.send("dying")
    handle = engine.receive_one()[1]
    dying = engine.on(connect(autocommit=False))
    dying.rows("select 1")
    configure(engine, dead_letter_queue=None)
    configure(holder, closed=True)
    engine.value(DELETE, graves, [])

    assert dying.nack(handle, reason="rejected") == "dead"
    dying.connection.commit()
    names = (
        "select q.name from signalbox.dead_letter d join signalbox.queue q using (queue_id) where source_queue_id = %s"
    )
    assert engine.rows(names, engine.queue_id) == [(f"{engine.queue}-dlq",)]


def test_a_death_in_an_old_snapshot_is_refused_when_its_queue_is_gone(make_engine: Made, connect: Connect) -> None:
    engine = make_engine()
    graves = f"{engine.queue}-graves"
    configure(engine, dead_letter_queue=graves)
    holder = Engine(engine.connection, graves, engine.value("select signalbox.create_queue(%s)", graves))
    engine.send("dying")
    handle = engine.receive_one()[1]
    dying = engine.on(connect(autocommit=False))
    dying.connection.execute("set transaction isolation level repeatable read")
    dying.rows("select 1")
    configure(engine, dead_letter_queue=None)
    configure(holder, closed=True)
    engine.value(DELETE, graves, [])

    with pytest.raises(psycopg.errors.SerializationFailure):
        dying.nack(handle, reason="rejected")
    dying.connection.rollback()
    assert engine.nack(handle, reason="rejected") == "dead"


def test_a_dead_letter_queue_by_id_stays_as_long_as_it_has_sources(engine: Engine) -> None:
    """Dead-letter queue made beforehand by its tenant, and still empty."""
    name = f"{engine.queue}-dlq"
    holder = Engine(engine.connection, name, engine.value("select signalbox.create_queue(%s)", name))
    configure(holder, closed=True)
    assert f"keeps the dead letters of '{engine.queue}'" in str(refusal(holder, []))
