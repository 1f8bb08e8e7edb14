"""Verbs during maintenance, and the state of every queue afterwards."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest
from django.utils import timezone
from psycopg.types.json import Jsonb

from queues.codes import AdmissionFlag
from queues.control import maintenance, queues
from queues.errors import InMaintenance, InvalidArgument, QueueClosed, translated
from queues.models import AuditEvent, Maintenance, Queue
from tests.engine import Engine
from tests.maintained import Begin, begin
from tests.races.sessions import finish, start, until_waiting

__all__ = ["begin"]

MakeEngine = Callable[..., Engine]


def flags(engine: Engine) -> int:
    return int(engine.value("select admission_flags from signalbox.queue where queue_id = %s", engine.queue_id))


def test_nothing_is_handed_out_and_what_is_in_flight_is_settled(engine: Engine, begin: Begin) -> None:
    done, failed, back = (engine.send(number) for number in range(3))
    handles = {row[0]: row[1] for row in engine.receive(3)}
    waiting = engine.send("later")
    begin()

    assert engine.receive(10) == []
    assert engine.ack(handles[done]) == [True]
    assert engine.nack(handles[failed], delay_seconds=0) == "retry"
    assert engine.value("select signalbox.change_visibility(%s, 0)", handles[back]) is not None
    assert engine.receive(10) == []
    maintenance.end(actor="ada")

    assert {row[0] for row in engine.receive(10)} == {failed, back, waiting}


def test_sends_go_on_unless_they_are_refused(engine: Engine, begin: Begin) -> None:
    begin()
    assert engine.send("accepted")
    begin(refuses_sends=True)

    with pytest.raises(InMaintenance, match="maintenance by ada refuses sends: New disks") as refused, translated():
        engine.send("refused")
    assert refused.value.retry_after is not None
    assert 0 < refused.value.retry_after <= 3600
    assert refused.value.until is not None
    with pytest.raises(InMaintenance), translated():
        engine.rows("select signalbox.send_batch(%s, array['1'::jsonb])", engine.queue)
    assert engine.counted() == engine.recounted()
    maintenance.end(actor="ada")

    assert engine.send("accepted again")


def test_a_refusal_without_an_announced_end_says_no_time(engine: Engine, begin: Begin) -> None:
    begin(until=None, refuses_sends=True)

    with pytest.raises(InMaintenance) as refused, translated():
        engine.send("refused")
    assert (refused.value.until, refused.value.retry_after) == (None, None)


def test_one_that_is_late_does_not_have_everybody_ask_each_second(engine: Engine, begin: Begin) -> None:
    begin(refuses_sends=True)
    Maintenance.objects.update(until=timezone.now() - timedelta(minutes=5))

    with pytest.raises(InMaintenance) as refused, translated():
        engine.send("refused")
    assert refused.value.until is not None
    assert refused.value.retry_after is None


def test_messages_are_handed_out_where_claims_are_not_held(engine: Engine, begin: Begin) -> None:
    begin(holds_claims=False)

    sent = engine.send("x")
    assert [row[0] for row in engine.receive(10)] == [sent]


def test_the_console_s_own_jobs_may_still_be_handed_on(make_engine: MakeEngine, begin: Begin) -> None:
    engine = make_engine()
    name = f"{engine.queue}-system"
    engine.value("select signalbox.create_queue(%s, '{}', 'system')", name)
    begin(refuses_sends=True)

    assert engine.value("select signalbox.send(%s, '1')", name)


def test_each_queue_keeps_its_own_pause_and_its_own_limits(make_engine: MakeEngine, begin: Begin) -> None:
    paused, closed, limited, plain = (
        make_engine(),
        make_engine(closed=True),
        make_engine(max_backlog_messages=5, dedup_scope="in_flight", max_in_flight=3),
        make_engine(),
    )
    queues.pause_queue(paused.queue, actor="bo", reason="by hand")
    before = [flags(one) for one in (paused, closed, limited, plain)]
    held = AdmissionFlag.HOLDS_CLAIMS | AdmissionFlag.REFUSES_SENDS
    begin(refuses_sends=True)

    assert [flags(one) for one in (paused, closed, limited, plain)] == [number | held for number in before]
    with pytest.raises(QueueClosed), translated():
        closed.send("x")  # its own reason, which outlasts maintenance
    maintenance.end(actor="ada")

    assert [flags(one) for one in (paused, closed, limited, plain)] == before
    queue = Queue.objects.get(name=paused.queue)
    assert (queue.paused, queue.paused_by, queue.is_held) == (True, "bo", False)
    plain.send("x")
    assert len(plain.receive(1)) == 1


def test_changes_during_maintenance_take_effect_afterwards(make_engine: MakeEngine, begin: Begin) -> None:
    engine, other = make_engine(), make_engine()
    begin()
    queues.pause_queue(engine.queue, actor="ada", reason="stays")
    queues.configure_queue(other.queue, {"max_in_flight": 1}, actor="ada")
    assert flags(other) == 8 | 2
    engine.send(1)
    other.send(1)
    assert (engine.receive(1), other.receive(1)) == ([], [])
    maintenance.end(actor="ada")

    assert engine.receive(1) == []
    assert len(other.receive(1)) == 1
    assert flags(other) == 2


def test_a_queue_created_during_maintenance_is_held_and_released(make_engine: MakeEngine, begin: Begin) -> None:
    begin()
    engine = make_engine()
    engine.send(1)
    assert engine.receive(1) == []
    maintenance.end(actor="ada")

    assert len(engine.receive(1)) == 1


def test_a_queue_that_is_made_at_the_same_moment_is_held_too(
    connect: Callable[..., psycopg.Connection], make_engine: MakeEngine, begin: Begin
) -> None:
    """Maintenance waits for a writer of a queue's row, or that queue would miss it."""
    maker, observer, engine = connect(autocommit=False), connect(), make_engine()
    maker.execute("select signalbox.create_queue(%s, '{}')", [f"{engine.queue}-new"])
    with connect() as keeper:
        beginning = start(keeper.execute, "select signalbox.begin_maintenance('ada', 'x', null, true, false)")
        until_waiting(observer, keeper)
        engine.send(1)
        assert len(engine.receive(1)) == 1  # senders and consumers do not wait
        maker.commit()
        finish(beginning)

    held = engine.on(observer)
    made = held.value("select admission_flags from signalbox.queue where name = %s", f"{engine.queue}-new")
    assert made == 8
    begin()  # so that it ends with the test


def test_a_queue_that_is_made_while_maintenance_ends_is_not_left_held(
    connect: Callable[..., psycopg.Connection], make_engine: MakeEngine, begin: Begin
) -> None:
    begin()
    maker, observer, engine = connect(autocommit=False), connect(), make_engine()
    with connect(autocommit=False) as keeper:
        keeper.execute("select signalbox.end_maintenance()")
        making = start(maker.execute, "select signalbox.create_queue(%s, '{}')", [f"{engine.queue}-new"])
        until_waiting(observer, maker)
        keeper.commit()
        finish(making)
        maker.commit()

    assert engine.value("select admission_flags from signalbox.queue where name = %s", f"{engine.queue}-new") == 0


def test_a_configuration_under_way_makes_no_ring_of_waits(
    connect: Callable[..., psycopg.Connection], make_engine: MakeEngine, begin: Begin
) -> None:
    """One has a queue's row and goes on to make another queue; maintenance wants all rows."""
    configuring, observer, engine = connect(autocommit=False), connect(), make_engine()
    configuring.execute("select signalbox.configure_queue(%s, '{}')", [engine.queue])
    with connect() as keeper:
        beginning = start(keeper.execute, "select signalbox.begin_maintenance('ada', 'x', null, true, false)")
        until_waiting(observer, keeper)
        settings = Jsonb({"dead_letter_queue": f"{engine.queue}-graves"})
        configuring.execute("select signalbox.configure_queue(%s, %s)", [engine.queue, settings])
        configuring.commit()
        finish(beginning)

    assert flags(engine) == 8
    begin()


def test_who_configures_for_long_is_named_as_the_reason(
    connect: Callable[..., psycopg.Connection], engine: Engine, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuring = connect(autocommit=False)
    configuring.execute("select signalbox.configure_queue(%s, '{}')", [engine.queue])

    with monkeypatch.context() as patched:
        patched.setattr("queues.control.maintenance.LOCK_SECONDS", 0.001)
        with pytest.raises(InvalidArgument, match="another transaction has been configuring queues"):
            begin()
    configuring.rollback()
    assert maintenance.current() is None


def test_words_can_be_changed_while_it_is_on(begin: Begin) -> None:
    first = begin()
    second = begin(actor="bo", reason="It takes longer.", until=None, holds_claims=False)

    assert second.started_at == first.started_at
    row = maintenance.current()
    assert row is not None
    assert (row.started_by, row.reason, row.until, row.holds_claims) == ("bo", "It takes longer.", None, False)
    assert row.effects == []


def test_everything_is_in_the_audit(begin: Begin) -> None:
    last = AuditEvent.objects.order_by("-audit_event_id").first()
    begin()
    begin(refuses_sends=True)
    maintenance.end(actor="bo", reason="Done.")

    rows = AuditEvent.objects.filter(audit_event_id__gt=last.pk if last else 0).order_by("audit_event_id")
    assert [(row.actor, row.action, row.reason) for row in rows] == [
        ("ada", "maintenance.begin", "New disks."),
        ("ada", "maintenance.change", "New disks."),
        ("bo", "maintenance.end", "Done."),
    ]
    assert rows[1].details["refuses_sends"] is True
    assert maintenance.end(actor="bo") is None


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"reason": " "}, "reason"),
        ({"reason": "x" * 501}, "reason"),
        ({"reason": "\0"}, "reason"),
        ({"until": timezone.now() - timedelta(minutes=1)}, "until"),
        ({"until": timezone.now() + timedelta(days=8)}, "until"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(begin: Begin, wrong: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        begin(**wrong)

    assert refused.value.field == field
    assert maintenance.current() is None


def test_what_fails_leaves_nothing_half_done(engine: Engine, begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no audit, no maintenance")

    with monkeypatch.context() as patched:
        patched.setattr("queues.control.maintenance.audit.record", fail)
        with pytest.raises(RuntimeError):
            begin()

    assert maintenance.current() is None
    assert flags(engine) == 0


def test_there_is_never_more_than_one(engine: Engine, begin: Begin) -> None:
    begin()

    with pytest.raises(psycopg.errors.CheckViolation):
        engine.rows("update signalbox.maintenance set maintenance_id = 2")
