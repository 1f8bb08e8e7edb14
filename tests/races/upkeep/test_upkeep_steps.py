"""Upkeep's steps are small transactions of their own: none of them stops another (hazard 16)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.floors import Floors

Connect = Callable[..., psycopg.Connection[Any]]

EXCLUSIVE_STEPS = ["aggregate_counters", "ensure_partitions", "expire_messages", "record_history"]
"""Steps that run one at a time; a second process does nothing."""


@pytest.mark.parametrize("step", EXCLUSIVE_STEPS)
def test_a_step_that_another_process_is_doing_is_left_to_it(engine: Engine, connect: Connect, step: str) -> None:
    engine.send("x")
    busy = connect()
    busy.execute("begin")
    busy.execute("select signalbox.upkeep(%s)", [step])

    assert engine.value("select signalbox.upkeep(%s)", step) == f"{step}: another process is at it"

    busy.execute("rollback")
    assert engine.value("select signalbox.upkeep(%s)", step) != f"{step}: another process is at it"


def test_floors_move_while_a_fold_hangs(engine: Engine, connect: Connect, make_floors: Callable[..., Floors]) -> None:
    engine.send("x")
    hanging = connect()
    hanging.execute("begin")
    hanging.execute("select signalbox.aggregate_counters()")
    floors = make_floors(engine)
    floors.tick()
    engine.ack(engine.receive_one()[1])
    at = floors.at()

    floors.tick()

    assert floors.at() > at


def test_no_step_holds_more_than_the_locks_of_its_transaction(engine: Engine, connect: Connect) -> None:
    """Session locks would stay with a pooled connection long after its client has gone."""
    session = engine.on(connect())
    for _ in engine.value("select signalbox.upkeep_steps()"):  # every step comes once
        session.value("select signalbox.upkeep()")

    assert session.value("select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()") == 0


def test_a_call_without_a_step_takes_them_in_turn(engine: Engine) -> None:
    steps = engine.value("select signalbox.upkeep_steps()")
    done = [engine.value("select signalbox.upkeep()").split(":")[0] for _ in 2 * steps]

    assert set(done) == set(steps)
    assert done[: len(steps)] == done[len(steps) :]


def test_a_step_that_fails_does_not_stop_the_loop(engine: Engine, connect: Connect) -> None:
    with pytest.raises(psycopg.Error) as caught:
        engine.value("select signalbox.upkeep('unknown')")

    assert caught.value.sqlstate == "SB400"
    assert caught.value.diag.column_name == "step"


def test_two_who_return_and_promote_share_the_work(engine: Engine, connect: Connect) -> None:
    for number in range(4):
        engine.send(number)
    engine.receive(4, visibility_timeout=0)
    for number in range(4):
        engine.send(number, delay_seconds=0.000001)
    first, second = engine.on(connect()), engine.on(connect())
    step = "select signalbox.return_and_promote(array[%s])"
    first.connection.execute("begin")
    assert first.value(step, engine.queue_id) == 8

    assert second.value(step, engine.queue_id) == 0

    first.connection.execute("commit")
    assert second.value(step, engine.queue_id) == 0
    assert engine.counted() == engine.recounted() == (8, 0, 0, 0, 0)


def test_expiring_messages_are_left_to_a_concurrent_claim(make_engine: Callable[..., Engine], connect: Connect) -> None:
    engine = make_engine(retention_seconds=60)
    for number in range(4):
        engine.send(number)
    engine.rows(
        "update signalbox.ready set ready_at = ready_at - interval '61 seconds' where queue_id = %s returning 1",
        engine.queue_id,
    )
    claimer = engine.on(connect())
    claimer.connection.execute("begin")
    claimed = [row[1] for row in claimer.receive(2)]

    engine.value("select signalbox.expire_messages()")

    claimer.connection.execute("commit")
    assert engine.ack(*claimed) == [True, True]
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)
    assert engine.value("select totals[19] from signalbox.queue_totals(array[%s])", engine.queue_id) == 2
