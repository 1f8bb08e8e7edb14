"""No step of upkeep is stopped by one queue: neither by its error, nor by a transaction that holds what it needs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import psycopg
import pytest

from queues.database.connections import connect as connect_to_django
from queues.upkeep.upkeep import MAX_FLOOR_PAUSE_SECONDS, Chores, Pulse, Step, Upkeep
from tests.engine import Engine
from tests.races.floors import Floors

pytestmark = pytest.mark.usefixtures("commits")

Connect = Callable[..., psycopg.Connection[Any]]
MakeEngine = Callable[..., Engine]

FAIL = "raise exception using errcode = 'XX001', message = 'the page is broken'"
HELD_KEY = 727_727
WAIT = f"perform pg_advisory_xact_lock({HELD_KEY})"
TROUBLES = [pytest.param(FAIL, "XX001", id="error"), pytest.param(WAIT, "55P03", id="lock")]

Broken = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def broken(connect: Connect) -> Broken:
    """Block in which a change of one queue's rows in a table raises, or waits for a held lock."""
    admin, holder = connect(), connect(autocommit=False)
    holder.execute("select pg_advisory_xact_lock(%s)", [HELD_KEY])

    @contextmanager
    def _broken(table: str, event: str, queue_id: int, trouble: str, column: str = "queue_id") -> Iterator[None]:
        row = "old" if event == "delete" else "new"
        admin.execute(
            "create or replace function public.test_trouble() returns trigger language plpgsql as"
            f" $$ begin {trouble}; return {row}; end $$"
        )
        admin.execute(
            f"create trigger test_trouble before {event} on signalbox.{table} for each row"
            f" when ({row}.{column} = {queue_id}) execute function public.test_trouble()"
        )
        try:
            yield
        finally:
            admin.execute(f"drop trigger test_trouble on signalbox.{table}")

    return _broken


def warnings_of(engine: Engine) -> list[str]:
    """Notices of the database to this connection from now on."""
    said: list[str] = []
    engine.connection.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
    return said


def named(said: list[str], step: str, queue_id: int, sqlstate: str) -> bool:
    """Return whether a warning names the step, the queue and the SQLSTATE."""
    start = f"signalbox: upkeep step {step} skipped queue {queue_id}: "
    return any(line.startswith(start) and line.endswith(f"(SQLSTATE {sqlstate})") for line in said)


@pytest.mark.parametrize(("trouble", "sqlstate"), TROUBLES)
def test_a_failing_dead_letter_blocks_no_other_queue_or_due_message(
    make_engine: MakeEngine, broken: Broken, trouble: str, sqlstate: str
) -> None:
    first, second = make_engine(max_receives=1), make_engine()
    for engine in (first, second):
        engine.send("leased")
        engine.receive(1, visibility_timeout=0)
        engine.send("due", delay_seconds=0.000001)
    said = warnings_of(first)

    with broken("dead_letter", "insert", first.queue_id, trouble, "source_queue_id"):
        first.value("select signalbox.return_and_promote(array[%s, %s])", first.queue_id, second.queue_id)

    assert first.recounted() == first.counted() == (1, 0, 1, 0, 0)
    assert second.recounted() == second.counted() == (2, 0, 0, 0, 0)
    assert named(said, "return_and_promote", first.queue_id, sqlstate)


@pytest.mark.parametrize(("trouble", "sqlstate"), TROUBLES)
def test_lanes_that_cannot_be_released_hold_no_other_queue(
    make_engine: MakeEngine, broken: Broken, trouble: str, sqlstate: str
) -> None:
    first, second = make_engine(mode="fifo"), make_engine(mode="fifo")
    for engine in (first, second):
        engine.send("x", group_id="a")
    said = warnings_of(first)

    with broken("waiting", "delete", first.queue_id, trouble):
        first.value("select signalbox.release_lanes()")

    assert (first.waiting(), second.waiting()) == (1, 0)
    assert named(said, "release_lanes", first.queue_id, sqlstate)


@pytest.mark.parametrize(("trouble", "sqlstate"), TROUBLES)
def test_messages_that_cannot_expire_hold_no_other_queue(
    make_engine: MakeEngine, broken: Broken, trouble: str, sqlstate: str
) -> None:
    engines = [make_engine(retention_seconds=60), make_engine(retention_seconds=60)]
    for engine in engines:
        engine.send("old")
        engine.rows(
            "update signalbox.ready set ready_at = ready_at - interval '2 minutes' where queue_id = %s returning 1",
            engine.queue_id,
        )
    first, second = engines
    said = warnings_of(first)

    with broken("ready", "delete", first.queue_id, trouble):
        first.value("select signalbox.expire_messages()")

    assert (first.recounted()[0], second.recounted()[0]) == (1, 0)
    assert named(said, "expire_messages", first.queue_id, sqlstate)


def test_a_trash_batch_that_cannot_be_emptied_holds_no_other(make_engine: MakeEngine, broken: Broken) -> None:
    first, second = make_engine(), make_engine()
    for engine in (first, second):
        engine.rows(
            "with batch as ("
            " insert into signalbox.trash_batch (keep_seconds, expires_at, trashed)"
            " values (1, clock_timestamp() - interval '1 hour', 1)"
            " returning trash_batch_id)"
            " insert into signalbox.trash"
            " (trash_batch_id, position, message_id, queue_id, state, receive_count, priority)"
            " select trash_batch_id, 1, %s, %s, 'ready', 0, 0 from batch returning 1",
            engine.send("x"),
            engine.queue_id,
        )
    left = "select count(*) from signalbox.trash where queue_id = %s"

    with broken("trash", "delete", first.queue_id, FAIL):
        first.value("select signalbox.empty_trash()")

    assert (first.value(left, first.queue_id), first.value(left, second.queue_id)) == (1, 0)
    first.value("select signalbox.empty_trash()")
    assert first.value(left, first.queue_id) == 0


def test_a_queue_that_is_being_deleted_holds_no_limit_of_another(make_engine: MakeEngine, connect: Connect) -> None:
    first, second = make_engine(max_backlog_messages=5), make_engine(max_backlog_messages=5)
    for engine in (first, second):
        engine.send("x")
        engine.ack(engine.receive_one()[1])
    first.value("select signalbox.configure_queue(%s, '{\"closed\": true}')", first.queue)
    stamp = "select signalbox._read_counter(evaluated) from signalbox.admission_counter where queue_id = %s"
    second.value("select setval(evaluated, 1) from signalbox.admission_counter where queue_id = %s", second.queue_id)
    deleting = connect(autocommit=False)
    deleting.execute("select signalbox.delete_queue(%s)", [first.queue])

    second.value("select signalbox.estimate_sizes()")

    assert second.value(stamp, second.queue_id) > 1
    deleting.rollback()


def test_floors_are_made_for_others_while_a_queue_is_being_deleted(
    make_engine: MakeEngine, connect: Connect, make_floors: Callable[..., Floors]
) -> None:
    first, second = make_engine(), make_engine()
    first.value("select signalbox.configure_queue(%s, '{\"closed\": true}')", first.queue)
    deleting = connect(autocommit=False)
    deleting.execute("select signalbox.delete_queue(%s)", [first.queue])
    floors = make_floors(second)

    floors.keeper.tick(1.0, [first.queue_id, second.queue_id])

    made = "select count(*) from signalbox.claim_floor where queue_id = %s and floor is not null"
    assert second.value(made, second.queue_id) > 0
    assert second.value(made, first.queue_id) == 0
    deleting.rollback()


def test_the_claim_floors_advance_while_a_dead_letter_waits(make_engine: MakeEngine, broken: Broken) -> None:
    first, second = make_engine(max_receives=1), make_engine()
    first.send("dies")
    first.receive(1, visibility_timeout=0)
    upkeep = Upkeep()
    thread = threading.Thread(target=upkeep.run)
    clock = "select pg_sequence_last_value('signalbox.clock'::regclass)"

    def eventually(check: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 90
        while not check():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    with broken("dead_letter", "insert", first.queue_id, WAIT, "source_queue_id"):
        thread.start()
        try:
            for _ in range(3):  # each in a later round than the one before
                at = second.value("select (extract(epoch from clock_timestamp()) * 1000000)::bigint")
                second.send("due", delay_seconds=0.05)
                eventually(lambda: second.recounted()[1] == 0)
                eventually(lambda at=at: (second.value(clock) or 0) > at)
        finally:
            upkeep.stop()
            thread.join(90)
    assert not thread.is_alive()


@pytest.mark.parametrize("kind", [Pulse, Chores])
def test_a_step_waits_for_a_table_no_longer_than_its_timeout(kind: type[Pulse | Chores], connect: Connect) -> None:
    holder = connect(autocommit=False)
    with connect_to_django("upkeep under test") as connection:
        kind.limit_waits(connection)
        rounds = kind(connection)
        done = []
        rounds.steps = [
            Step("waits", 1.0, lambda: connection.execute("select count(*) from signalbox.logged_warning")),
            Step("next", 1.0, lambda: done.append("next")),
        ]
        holder.execute("lock table signalbox.logged_warning in access exclusive mode")

        rounds.run_due(time.monotonic())

        assert [step.failures for step in rounds.steps] == [1, 0]
        assert done == ["next"]
        assert connection.execute("show statement_timeout").fetchone() == (kind.statement_timeout,)


def test_a_call_of_upkeep_from_outside_waits_for_a_table_no_longer_than_its_timeout(
    engine: Engine, connect: Connect
) -> None:
    holder = connect(autocommit=False)
    holder.execute("lock table signalbox.logged_warning in access exclusive mode")
    engine.value("select set_config('statement_timeout', '60s', false)")

    with pytest.raises(psycopg.errors.LockNotAvailable):
        engine.value("select signalbox.upkeep('log_warnings')")

    assert engine.value("show lock_timeout") == "0"
    assert engine.value("select signalbox.upkeep('aggregate_counters')").startswith("aggregate_counters: ")


def test_floors_that_cannot_be_moved_are_tried_again_before_claims_stop_believing_them() -> None:
    with connect_to_django("upkeep under test") as connection:
        pulse = Pulse(connection)
        (floors,) = (step for step in pulse.steps if step.name == "floors")
        floors.failures = 20

        floors.postpone(100.0)

        assert floors.due_at == 100.0 + MAX_FLOOR_PAUSE_SECONDS


def test_the_log_end_is_recorded_while_a_sender_makes_a_segment(engine: Engine, connect: Connect) -> None:
    maker = connect(autocommit=False)
    maker.execute("select pg_advisory_xact_lock(hashtext('signalbox.segment'), 0)")
    end = int(engine.value("select signalbox.publish_log_end()"))
    engine.value("select setval('signalbox.message_id', %s)", end - 1_000_000)

    made = engine.value("select signalbox.ensure_partitions()")

    assert made is not None
    assert not any(name.startswith("message_") for name in made)
    maker.rollback()
    assert f"message_{end // 1_000_000}" in engine.value("select signalbox.ensure_partitions()")
    engine.value("select signalbox.publish_log_end()")


def test_a_consumer_that_another_transaction_announces_is_not_waited_for(engine: Engine, connect: Connect) -> None:
    announce = "select signalbox.announce_consumer(%s, 'one', '{\"host\": \"%s\"}')"
    details = "select details ->> 'host' from signalbox.consumer where queue_id = %s"
    engine.value("select set_config('statement_timeout', '60s', false)")
    open_one = connect(autocommit=False)
    for host in ("a", "b"):  # the first makes the row, the second changes it
        open_one.execute(announce.replace('%s"', f'{host}"'), [engine.queue])
        engine.value(announce.replace('%s"', 'other"'), engine.queue)
        open_one.commit()
        assert engine.value(details, engine.queue_id) == host

    engine.value(announce.replace('%s"', 'c"'), engine.queue)
    assert engine.value(details, engine.queue_id) == "c"
