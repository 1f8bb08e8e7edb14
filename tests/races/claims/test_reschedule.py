"""A scheduled message gets another time, or has already been promoted: never both, and never lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.engine import Engine

Connect = Callable[..., psycopg.Connection[Any]]

NOW = "-infinity"
PROMOTE = "select signalbox.return_and_promote(array[%s])"


def reschedule(engine: Engine, message_id: int, due: datetime | str = NOW) -> datetime | None:
    due_at: datetime | None = engine.value(
        "select signalbox.reschedule(%s, %s, %s::timestamptz)", engine.queue, message_id, due
    )
    return due_at


def received(engine: Engine) -> list[int]:
    return [row[0] for row in engine.receive(10)]


def test_run_now_makes_it_the_next_to_be_received(engine: Engine) -> None:
    message_id = engine.send("later", delay_seconds=3600)

    assert reschedule(engine, message_id) is not None
    assert engine.counted() == engine.recounted()

    assert received(engine) == [message_id]
    assert engine.counted() == engine.recounted()


def test_a_later_time_holds_it_back(engine: Engine) -> None:
    message_id = engine.send("soon", delay_seconds=0.000001)
    later = datetime.now(UTC) + timedelta(hours=2)

    assert reschedule(engine, message_id, later) == later
    assert received(engine) == []


def test_a_message_in_backoff_keeps_its_failures(engine: Engine) -> None:
    message_id = engine.send("x")
    engine.nack(engine.receive_one()[1], delay_seconds=3600)

    reschedule(engine, message_id)

    assert [(row[0], row[2]) for row in engine.receive(10)] == [(message_id, 2)]


def test_what_is_not_scheduled_in_this_queue_is_left_alone(engine: Engine, make_engine: Callable[..., Engine]) -> None:
    ready, elsewhere = engine.send("ready"), make_engine().send("elsewhere", delay_seconds=3600)

    assert [reschedule(engine, one) for one in (ready, elsewhere, 2**62)] == [None, None, None]
    assert engine.counted() == engine.recounted() == (1, 0, 0, 0, 0)


@pytest.mark.parametrize("due", ["infinity", None])
def test_a_time_that_never_comes_is_refused(engine: Engine, due: str | None) -> None:
    message_id = engine.send("x", delay_seconds=3600)

    with pytest.raises(psycopg.Error) as caught:
        engine.value("select signalbox.reschedule(%s, %s, %s)", engine.queue, message_id, due)
    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SB400", "due")


def test_a_promotion_that_came_first_wins(engine: Engine, connect: Connect) -> None:
    message_id = engine.send("due", delay_seconds=0.000001)
    promoter = engine.on(connect())
    promoter.connection.execute("begin")
    assert promoter.value(PROMOTE, engine.queue_id) == 1

    assert reschedule(engine, message_id, datetime.now(UTC) + timedelta(hours=1)) is None
    promoter.connection.execute("commit")

    assert received(engine) == [message_id]
    assert engine.counted() == engine.recounted()


def test_a_promotion_that_is_rolled_back_leaves_it_scheduled(engine: Engine, connect: Connect) -> None:
    message_id = engine.send("due", delay_seconds=0.000001)
    promoter = engine.on(connect())
    promoter.connection.execute("begin")
    promoter.value(PROMOTE, engine.queue_id)
    assert reschedule(engine, message_id) is None
    promoter.connection.execute("rollback")

    assert reschedule(engine, message_id) is not None
    assert received(engine) == [message_id]


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_receive_passes_over_a_message_that_is_being_rescheduled(engine: Engine, connect: Connect, end: str) -> None:
    message_id = engine.send("due", delay_seconds=0.000001)
    person = engine.on(connect())
    person.connection.execute("begin")
    assert reschedule(person, message_id, datetime.now(UTC) + timedelta(hours=1)) is not None

    assert received(engine) == []  # without waiting for the person
    person.connection.execute(end.encode())

    assert received(engine) == ([] if end == "commit" else [message_id])
    assert engine.counted() == engine.recounted()


def test_two_people_at_once_leave_one_time(engine: Engine, connect: Connect) -> None:
    message_id = engine.send("x", delay_seconds=3600)
    person = engine.on(connect())
    person.connection.execute("begin")
    due = reschedule(person, message_id, datetime.now(UTC) + timedelta(hours=2))
    assert reschedule(engine, message_id) is None
    person.connection.execute("commit")

    assert engine.value("select due_at from signalbox.scheduled where message_id = %s", message_id) == due
