"""A server's clock that was ahead once: the engine says so, and its clock can be put back."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import psycopg
import pytest
from django.core.management import call_command

from queues.control import clock
from queues.control.restoring import restored
from queues.errors import InvalidArgument
from queues.models import AuditEvent
from tests.engine import Engine
from tests.races.floors import Floors

pytestmark = pytest.mark.usefixtures("commits")

Connect = Callable[..., psycopg.Connection[Any]]
DAY_US = 86_400 * 1_000_000
MOVE = "select setval('signalbox.clock', (extract(epoch from clock_timestamp()) * 1000000)::bigint + %s)"
SECONDS_LEFT = "select date_part('epoch', {} - clock_timestamp()) from signalbox.{} where message_id = %s"


@pytest.fixture
def ahead(engine: Engine) -> Iterator[Engine]:
    """A queue in an engine whose clock is a day ahead."""
    engine.value(MOVE, DAY_US)
    yield engine
    engine.value(MOVE, 0)


def lasts(engine: Engine) -> float:
    """Duration of a lease of two seconds, by the wall clock."""
    engine.send("x")
    (message_id, handle, *_) = engine.receive_one(visibility_timeout=2)
    seconds = float(engine.value(SECONDS_LEFT.format("deadline", "lease"), message_id))
    engine.ack(handle)
    return seconds


def test_leases_and_delays_last_as_asked_after_a_reset(ahead: Engine) -> None:
    assert lasts(ahead) > 80_000
    assert clock.state().is_ahead

    done = clock.reset(actor="anna", reason="NTP")

    assert done.ahead_seconds == pytest.approx(86_400, abs=300)
    assert not clock.state().is_ahead
    assert 0 < lasts(ahead) <= 2
    delayed = ahead.send("x", delay_seconds=1)
    assert 0 < ahead.value(SECONDS_LEFT.format("due_at", "scheduled"), delayed) <= 1
    row = AuditEvent.objects.filter(action="clock.reset").latest("audit_event_id")
    assert (row.actor, row.reason) == ("anna", "NTP")
    assert row.details["ahead_seconds"] == pytest.approx(done.ahead_seconds)


def test_what_the_clock_has_put_off_gets_its_time_back(ahead: Engine, make_engine: Callable[..., Engine]) -> None:
    limited = make_engine(mode="fifo", visibility_timeout_seconds=30)
    waits = [limited.send(number, group_id="a") for number in range(2)]
    ready = ahead.send("ready")
    retried = ahead.send("retried")
    (handle,) = (row[1] for row in ahead.receive(2) if row[0] == retried)
    assert ahead.nack(handle, delay_seconds=100) == "retry"
    before = ahead.value("select deadline from signalbox.lease where message_id = %s", ready)
    delayed = ahead.send("delayed", delay_seconds=50)

    done = clock.reset(actor="anna")

    assert (done.unknown, done.left) == (1, 0)
    assert done.scheduled >= 1
    assert done.leased >= 1
    assert before > datetime.now(UTC) + timedelta(hours=20)
    assert 0 < ahead.value(SECONDS_LEFT.format("deadline", "lease"), ready) <= 30
    assert 0 < ahead.value(SECONDS_LEFT.format("due_at", "scheduled"), retried) <= 100
    assert ahead.value(SECONDS_LEFT.format("due_at", "scheduled"), delayed) > 80_000  # early is worse than late
    assert [row[0] for row in limited.receive(10)] == waits[:1]
    assert limited.value("select max(waiting_since) <= clock_timestamp() from signalbox.waiting")

    clock.reset(actor="anna", release_delayed=True, ahead_until=done.ahead_until)

    assert delayed in [row[0] for row in ahead.receive(10)]


def test_what_was_put_off_before_the_clock_was_ahead_is_not_early(engine: Engine) -> None:
    tomorrow = engine.send("x", delay_seconds=40_000)
    due = engine.value("select due_at from signalbox.scheduled where message_id = %s", tomorrow)
    engine.value(MOVE, DAY_US)

    clock.reset(actor="anna", release_delayed=True)

    assert engine.value("select due_at from signalbox.scheduled where message_id = %s", tomorrow) == due


def test_messages_dated_ahead_keep_their_order_and_come_before_later_ones(ahead: Engine) -> None:
    sent = [ahead.send(number) for number in range(3)]
    clock.reset(actor="anna")
    sent.append(ahead.send("later"))

    assert [ahead.receive_one()[0] for _ in sent] == sent


def test_a_keeper_with_a_mark_from_before_strands_nothing(ahead: Engine, make_floors: Callable[..., Floors]) -> None:
    floors = make_floors(ahead)
    floors.tick(3)
    clock.reset(actor="anna")
    later = ahead.send("later")

    floors.tick(3)

    assert [row[0] for row in ahead.receive(10)] == [later]
    assert ahead.value(
        (
            "select max(pg_sequence_last_value(floor)) < %s from signalbox.claim_floor where floor is not null"
            " and queue_id = %s"
        ),
        int(datetime.now(UTC).timestamp() * 1_000_000) + DAY_US // 2,
        ahead.queue_id,
    )


def test_no_floor_rises_to_a_mark_beyond_the_clock(ahead: Engine, connect: Connect) -> None:
    token = uuid.uuid4()
    ahead.value("update signalbox.upkeep_leader set expires_at = '-infinity' returning 1")
    assert ahead.value("select signalbox.take_lead(%s)", token) == "elected"
    mark = ahead.value("select mark from signalbox.mark_floor(%s)", token)
    ahead.value(MOVE, 0)

    assert ahead.value("select signalbox.advance_floor(%s, %s, array[%s])", token, mark, ahead.queue_id) is None
    ahead.value("select signalbox.resign_lead(%s)", token)


def test_a_leader_elected_while_the_servers_clock_was_ahead_is_followed_by_another(engine: Engine) -> None:
    token = uuid.uuid4()
    ahead_of_all = "clock_timestamp() + interval '1 day'"
    engine.value(
        "insert into signalbox.upkeep_leader (token, expires_at) values (%s, " + ahead_of_all + ")"
        " on conflict (only_row) do update set token = excluded.token, expires_at = excluded.expires_at returning 1",
        uuid.uuid4(),
    )

    assert engine.value("select signalbox.take_lead(%s)", token) == "elected"
    engine.value("select signalbox.resign_lead(%s)", token)


def test_a_message_in_the_hands_of_an_open_transaction_is_left_and_mended_later(
    ahead: Engine, connect: Connect
) -> None:
    ahead.send("x")
    (message_id, *_) = ahead.receive_one()
    holder = connect(autocommit=False)
    holder.execute("select from signalbox.lease where message_id = %s for update", [message_id])

    done = clock.reset(actor="anna")
    holder.rollback()

    assert done.left >= 1
    assert ahead.value(SECONDS_LEFT.format("deadline", "lease"), message_id) > 80_000
    clock.reset(actor="anna", ahead_until=done.ahead_until)
    assert ahead.value(SECONDS_LEFT.format("deadline", "lease"), message_id) <= 30


def test_a_clock_that_is_right_is_not_reset(engine: Engine) -> None:
    engine.value(MOVE, 0)

    with pytest.raises(InvalidArgument) as refused:
        clock.reset(actor="anna")

    assert refused.value.field == "clock"


def test_a_restored_database_has_the_clock_of_its_server(ahead: Engine) -> None:
    done = restored(0, actor="anna")

    assert done.clock_ahead_seconds == pytest.approx(86_400, abs=300)
    assert 0 < lasts(ahead) <= 2


def said(*arguments: str) -> str:
    out = StringIO()
    call_command("clock", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_shows_before_it_changes(ahead: Engine) -> None:
    ahead.send("x", delay_seconds=50)
    assert "s ahead: it stands at" in said("show")
    assert '"is_ahead": true' in said("show", "--json")
    assert "Nothing was changed" in said("reset")
    assert clock.state().is_ahead

    answer = said("reset", "--yes", "--reason", "NTP")

    assert "The clock was reset." in answer
    assert "stay scheduled until" in answer
    assert "as it may be" in said("show")
