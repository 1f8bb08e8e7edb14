"""Every way of becoming claimable takes a time that no claim floor has passed (hazards 1 and 2), verb by verb.

A time of the wall clock, or of when the transaction began, is below the floor when the wall clock was set back, or when
the transaction is older than the floor; the message would then wait for a sweep, or for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.floors import Floors

Connect = Callable[..., psycopg.Connection[Any]]
Act = Callable[[Engine], Any]

GIVE_BACK = "select count(deadline) from signalbox.change_visibility_batch(%s, 0)"
RETURN_AND_PROMOTE = "select signalbox.return_and_promote(array[%s])"


def send(engine: Engine) -> Act:
    return lambda actor: actor.send("sent")


def send_batch(engine: Engine) -> Act:
    return lambda actor: actor.value("select signalbox.send_batch(%s, '{1}')", actor.queue)


def send_batch_with_options(engine: Engine) -> Act:
    return lambda actor: actor.value("select signalbox.send_batch(%s, '{1}', trace_ids => '{t}')", actor.queue)


def retry(engine: Engine) -> Act:
    engine.send("retried")
    handle = engine.receive_one()[1]
    return lambda actor: actor.nack(handle, delay_seconds=0)


def give_back(engine: Engine) -> Act:
    engine.send("given back")
    handle = engine.receive_one()[1]
    return lambda actor: actor.value(GIVE_BACK, [handle])


def expire(engine: Engine) -> Act:
    engine.send("expired")
    engine.receive_one(visibility_timeout=0)
    return lambda actor: actor.value(RETURN_AND_PROMOTE, actor.queue_id)


def come_due(engine: Engine) -> Act:
    engine.send("due", delay_seconds=0.000001)
    return lambda actor: actor.value(RETURN_AND_PROMOTE, actor.queue_id)


def run_now(engine: Engine) -> Act:
    message_id = engine.send("rescheduled", delay_seconds=3600)
    return lambda actor: actor.value(
        "select signalbox.reschedule(%s, %s, '-infinity') is not null", actor.queue, message_id
    )


def redrive(engine: Engine) -> Act:
    letter = engine.die("redriven")
    return lambda actor: actor.value("select signalbox.redrive(array[%s::bigint])", letter)


WAYS = [send, send_batch, send_batch_with_options, retry, give_back, expire, come_due, run_now, redrive]

# A scheduled message is due by the wall clock, which reaches an earlier time of signalbox's clock later.
AT_ONCE = [way for way in WAYS if way is not run_now]

every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


@pytest.fixture
def set_wall_clock_back(observer: psycopg.Connection[Any]) -> Iterator[Callable[[], None]]:
    """Leave signalbox's clock an hour ahead of the wall clock, as after a wall clock was set back."""
    (before,) = observer.execute("select last_value from signalbox.clock").fetchone() or (0,)

    def set_back() -> None:
        observer.execute(
            "select setval('signalbox.clock', (extract(epoch from clock_timestamp()) * 1000000)::bigint + 3600000000)"
        )

    yield set_back
    observer.execute("select setval('signalbox.clock', %s)", [before])


def received_above_the_floor(engine: Engine, floors: Floors) -> int:
    assert floors.keeper.sweep() == 0
    return len(engine.receive(10))


@every_way
def test_a_transaction_older_than_the_floor_may_still_make_a_message_claimable(
    engine: Engine, make_floors: Callable[..., Floors], connect: Connect, way: Callable[[Engine], Act]
) -> None:
    act = way(engine)
    floors = make_floors(engine)
    actor = engine.on(connect())
    actor.connection.execute("begin")
    actor.value("select 1")
    floors.tick()
    act(actor)
    actor.connection.execute("commit")
    floors.tick()

    assert received_above_the_floor(engine, floors) == 1


@pytest.mark.parametrize("way", AT_ONCE, ids=lambda way: way.__name__)
def test_a_message_becomes_claimable_above_the_floor_after_the_wall_clock_was_set_back(
    engine: Engine,
    make_floors: Callable[..., Floors],
    set_wall_clock_back: Callable[[], None],
    way: Callable[[Engine], Act],
) -> None:
    act = way(engine)
    set_wall_clock_back()
    floors = make_floors(engine)
    floors.tick()
    act(engine)
    floors.tick()

    assert received_above_the_floor(engine, floors) == 1
