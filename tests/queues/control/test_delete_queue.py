"""Deletion of queues: only empty and unused ones, and never one in use."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from queues import audit
from queues.control import deletion as deleting
from queues.control import queues
from queues.errors import QueueInUse, QueueNotFound
from queues.models import AuditEvent, Queue
from tests.engine import Engine
from tests.races.sessions import finish, start, until
from tests.streams import make_log

Made = Callable[..., Engine]
Connect = Callable[..., psycopg.Connection[Any]]

pytestmark = pytest.mark.usefixtures("commits")


def delete(engine: Engine, patience_seconds: float = 60.0) -> None:
    deleting.delete_queue(engine.queue, actor="ann", reason="no longer needed", patience_seconds=patience_seconds)


def deeds(engine: Engine) -> list[AuditEvent]:
    """Audited actions of people on the queue; SQL created it."""
    events = AuditEvent.objects.filter(queue_name=engine.queue).exclude(actor__startswith="sql:")
    return list(events.order_by("audit_event_id"))


def exists(engine: Engine) -> bool:
    return bool(engine.value("select true from signalbox.queue where queue_id = %s", engine.queue_id))


def test_an_empty_queue_goes_and_the_audit_keeps_its_name(make_engine: Made) -> None:
    engine = make_engine(max_backlog_messages=100, group_max_waiting=5, group_max_in_flight=2)
    for number in range(3):
        engine.send(number, group_id="g")
    while rows := engine.receive(10, consumer="c"):
        engine.ack(*[row[1] for row in rows])
    delete(engine)

    assert not exists(engine)
    events = deeds(engine)
    assert [(event.actor, event.action) for event in events] == [("ann", "queue.close"), ("ann", "queue.delete")]
    assert events[1].reason == "no longer needed"
    assert audit.verify().intact
    with pytest.raises(QueueNotFound):
        delete(engine)


def test_it_leaves_nothing_behind_that_does_not_go_by_time(make_engine: Made) -> None:
    engine = make_engine(max_backlog_bytes=10_000, group_max_in_flight=2, dedup_scope="in_flight")
    engine.send(1, group_id="g", deduplication_id="d")
    (handle,) = [row[1] for row in engine.receive(consumer="c")]
    engine.ack(handle)
    delete(engine)

    tables = engine.rows(
        "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'queue_id'"
        " where c.relnamespace = 'signalbox'::regnamespace and c.relkind = 'r' and not c.relispartition"
    )
    by_time = {"audit_event", "redriven", "message_kept", "former_queue"}
    left = {
        table
        for (table,) in tables
        if table not in by_time
        and engine.value(f"select true from signalbox.{table} where queue_id = %s limit 1", engine.queue_id)
    }
    assert left - {"queue_stat"} == set()
    counters = f"admission_q{engine.queue_id}_%", f"refused_{engine.queue_id}_%"
    for pattern in counters:
        assert engine.rows("select relname from pg_class where relname like %s", pattern) == []


@pytest.mark.parametrize("state", ["ready", "scheduled", "waiting", "leased", "dead"])
def test_a_queue_with_messages_stays_open_and_says_what_it_has(make_engine: Made, state: str) -> None:
    engine = make_engine(mode="fifo") if state == "waiting" else make_engine()
    if state == "dead":
        engine.die()
    else:
        engine.send(1, delay_seconds=3600 if state == "scheduled" else 0, group_id="g" if state == "waiting" else None)
    if state == "leased":
        engine.receive_one(visibility_timeout=3600)
    with pytest.raises(QueueInUse) as caught:
        delete(engine)

    assert {name for name, count in caught.value.messages.items() if count} == {state}
    assert not Queue.objects.get(name=engine.queue).closed
    assert deeds(engine) == []


def test_a_dead_letter_queue_in_use_stays(make_engine: Made) -> None:
    named = make_engine(dead_letter_queue="graves-to-delete")
    queues.create_queue(f"{named.queue}-x-dlq")
    with pytest.raises(QueueInUse, match=named.queue):
        deleting.delete_queue("graves-to-delete", actor="ann")
    delete(named)
    deleting.delete_queue("graves-to-delete", actor="ann")
    deleting.delete_queue(f"{named.queue}-x-dlq", actor="ann")


def test_a_queue_that_a_stream_feeds_stays(engine: Engine) -> None:
    log = make_log(engine.connection)
    log.group("feeder", queue=engine.queue)
    with pytest.raises(QueueInUse, match=f"'feeder' of the stream '{log.name}'"):
        delete(engine)
    assert not Queue.objects.get(name=engine.queue).closed
    assert log.value("select signalbox.drop_group(%s, 'feeder')", log.name)
    delete(engine)


def test_the_verb_alone_wants_the_queue_closed(engine: Engine) -> None:
    with pytest.raises(psycopg.Error, match="not closed") as caught:
        engine.value("select signalbox.delete_queue(%s, '{}')", engine.queue)
    assert caught.value.sqlstate == "SB424"


def test_a_send_that_began_before_is_never_lost(engine: Engine, connect: Connect) -> None:
    """The sender found the queue open; deletion waits for it, finds its message, and opens the queue again."""
    sender = engine.on(connect(autocommit=False))
    sender.send("precious")
    deletion = start(delete, engine)
    until(lambda: engine.value("select closed from signalbox.queue where queue_id = %s", engine.queue_id), "closing")
    assert not deletion.done()
    sender.connection.commit()

    with pytest.raises(QueueInUse) as caught:
        finish(deletion)
    assert caught.value.messages["ready"] == 1
    assert [row[3] for row in engine.receive(10)] == ["precious"]
    engine.send("and the next")


def test_an_old_snapshot_that_has_not_sent_yet_is_waited_for(engine: Engine, connect: Connect) -> None:
    """The transaction would still see the queue as open, long after the deletion."""
    old = connect(autocommit=False)
    old.execute("set transaction isolation level repeatable read")
    old.execute("select 1")
    with pytest.raises(QueueInUse, match="transaction"):
        delete(engine, patience_seconds=0)
    assert exists(engine)
    engine.on(old).send("from the past")
    old.commit()
    assert [row[3] for row in engine.receive(10)] == ["from the past"]


def test_a_send_that_comes_after_is_refused(engine: Engine, connect: Connect) -> None:
    sender, late = engine.on(connect(autocommit=False)), engine.on(connect())
    sender.send("rolled back")
    deletion = start(delete, engine)
    until(lambda: engine.value("select closed from signalbox.queue where queue_id = %s", engine.queue_id), "closing")
    with pytest.raises(psycopg.Error) as caught:
        late.send("too late")
    assert caught.value.sqlstate == "SB423"
    sender.connection.rollback()
    finish(deletion)

    assert not exists(engine)
    assert engine.rows("select from signalbox.ready where queue_id = %s", engine.queue_id) == []


def test_a_queue_that_was_open_in_between_stays(
    engine: Engine, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open, send to and close a queue while its deletion waits: the deletion does not wait for that sender."""
    sender = engine.on(connect(autocommit=False))

    def in_between(*_: Any) -> None:
        queues.configure_queue(engine.queue, {"closed": False}, actor="bob")
        sender.send("unseen")
        queues.configure_queue(engine.queue, {"closed": True}, actor="bob")

    monkeypatch.setattr(deleting, "_wait_for_end_of", in_between)
    with pytest.raises(QueueInUse, match="perhaps open"):
        delete(engine)
    sender.connection.commit()
    assert [row[3] for row in engine.receive(10)] == ["unseen"]


def test_of_two_who_delete_one_does(engine: Engine) -> None:
    outcomes = [start(delete, engine) for _ in range(3)]
    errors = [outcome.exception(90) for outcome in outcomes]

    assert not exists(engine)
    assert sum(error is None for error in errors) == 1
    assert all(error is None or isinstance(error, QueueNotFound | QueueInUse) for error in errors)
    assert AuditEvent.objects.filter(queue_name=engine.queue, action="queue.delete").count() == 1


def test_a_name_that_was_deleted_is_a_new_queue(engine: Engine) -> None:
    engine.send(1)
    handle = engine.receive_one()[1]
    engine.ack(handle)
    delete(engine)
    anew = queues.create_queue(engine.queue)

    assert anew.queue_id != engine.queue_id
    assert not anew.closed
    assert engine.ack(handle) == [False]


def test_its_name_is_kept_for_its_history_for_a_year(make_engine: Made) -> None:
    engine = make_engine()
    delete(engine)

    def name(**age: int) -> Any:
        engine.value(
            "update signalbox.former_queue set deleted_at = now() - %s where queue_id = %s returning 1",
            timedelta(**age),
            engine.queue_id,
        )
        engine.value("select signalbox.clean_up()")
        return engine.rows("select name from signalbox._known_queue where queue_id = %s", engine.queue_id)

    assert name(days=364) == [(engine.queue,)]
    assert name(days=367) == []
