"""Counters are exact while deltas are written, aggregated and read (hazard 15, invariants 9 and 11)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from queues import codes
from tests.engine import Engine
from tests.races.naive import SCHEMA, NaiveVerbs
from tests.races.sessions import finish, start, until

Connect = Callable[..., psycopg.Connection[Any]]

FOLD = "select signalbox.aggregate_counters()"


def published(engine: Engine) -> int:
    return int(engine.value("select totals[1] from signalbox.queue_totals(array[%s])", engine.queue_id))


def deltas(engine: Engine) -> int:
    """Number of the queue's deltas that are left."""
    return int(engine.value("select count(*) from signalbox.counter_delta where queue_id = %s", engine.queue_id))


@pytest.fixture
def pass_a_minute(observer: psycopg.Connection[Any]) -> Iterator[Callable[[], None]]:
    """Let a minute pass since the last aggregation; deltas go to the slot of a minute ago, which may be emptied."""
    (default,) = observer.execute(
        "select pg_get_expr(adbin, adrelid) from pg_attrdef"
        " where adrelid = 'signalbox.counter_delta'::regclass and adnum = 1"
    ).fetchone() or ("",)
    slot = "alter table signalbox.counter_delta alter column slot set default "
    observer.execute(f"{slot} (({default} + 3) % 4)::smallint")

    def pass_a_minute() -> None:
        observer.execute("update signalbox.aggregation set aggregated_at = aggregated_at - interval '61 seconds'")

    yield pass_a_minute
    observer.execute(f"{slot} {default}")


def test_a_delta_that_commits_during_a_fold_is_counted_by_the_next(engine: Engine, connect: Connect) -> None:
    sender = engine.on(connect())
    sender.connection.execute("begin")
    sender.send("slow")
    engine.send("quick")
    engine.value(FOLD)
    assert published(engine) == 1
    sender.connection.execute("commit")
    assert published(engine) == 2

    engine.value(FOLD)

    assert published(engine) == 2
    engine.value(FOLD)
    assert published(engine) == 2


def test_a_fold_up_to_the_highest_transaction_would_lose_the_slow_ones(
    engine: Engine, connect: Connect, naive: NaiveVerbs
) -> None:
    """Ids are drawn in one order and committed in another."""
    naive.install("_pending_deltas", {"and (d.txid >= p_xmax or d.txid = any(p_xip))": "and d.txid >= p_xmax"})
    naive.install("queue_totals", {})
    sender = engine.on(connect())
    sender.connection.execute("begin")
    sender.send("slow")
    engine.send("quick")
    engine.value(FOLD)
    sender.connection.execute("commit")

    assert published(naive.engine(engine)) == 1
    assert published(engine) == 2


def test_sum_then_truncate_would_lose_what_commits_between(naive: NaiveVerbs, connect: Connect) -> None:
    naive.connection.execute(
        f"create table {SCHEMA}.delta (amount bigint); create table {SCHEMA}.counter (total bigint);"
        f"insert into {SCHEMA}.delta select 1 from generate_series(1, 100)"
    )
    fold, sender = connect(), connect()
    fold.execute("begin")
    fold.execute(f"insert into {SCHEMA}.counter select sum(amount) from {SCHEMA}.delta")
    sender.execute(f"insert into {SCHEMA}.delta values (1)")
    fold.execute(f"truncate {SCHEMA}.delta")
    fold.execute("commit")

    row = naive.connection.execute(
        f"select (select sum(total) from {SCHEMA}.counter) + (select count(*) from {SCHEMA}.delta)"
    ).fetchone()
    assert row == (100,)  # of 101


def test_only_folded_slots_are_emptied(engine: Engine, connect: Connect, pass_a_minute: Callable[[], None]) -> None:
    def deltas_after_emptying() -> int:
        engine.value("select signalbox.empty_deltas()")
        return deltas(engine)

    sender = engine.on(connect())
    sender.connection.execute("begin")
    sender.send("slow")
    engine.send("quick")
    engine.value(FOLD)
    pass_a_minute()
    assert deltas_after_emptying() == 1  # a sender is still writing there
    sender.connection.execute("commit")
    assert deltas_after_emptying() == 2  # the last aggregation did not see it
    engine.value(FOLD)
    assert deltas_after_emptying() == 2  # a reader under way may still count on it
    pass_a_minute()

    until(lambda: deltas_after_emptying() == 0, "an empty slot, which a vacuum may be at")
    assert engine.counted() == engine.recounted() == (2, 0, 0, 0, 0)


def test_the_slot_in_use_is_left_alone(make_engine: Callable[..., Engine]) -> None:
    """Emptying it would cost every session its cached plans, again and again."""

    def left_within_one_minute() -> list[int]:
        """Deltas that were left, unless the next slot came into use in between."""
        engine = make_engine()
        minute = "select date_part('epoch', clock_timestamp())::bigint / 60"
        began = engine.value(minute)
        engine.send("x")
        engine.value(FOLD)
        engine.connection.execute(
            "update signalbox.aggregation set aggregated_at = aggregated_at - interval '61 seconds'"
        )
        engine.value("select signalbox.empty_deltas()")
        left = deltas(engine)
        return [left] if engine.value(minute) == began else []

    assert until(left_within_one_minute, "an attempt within one minute") == [1]


def test_an_admission_counter_does_not_rise_by_what_was_emptied(
    make_engine: Callable[..., Engine], connect: Connect, pass_a_minute: Callable[[], None]
) -> None:
    """Transactions open for minutes, one after the other: deltas written in between are not open."""

    def open_transaction() -> psycopg.Connection[Any]:
        session = connect()
        session.execute("begin")
        session.execute("select pg_current_xact_id()")
        return session

    def trade(times: int) -> None:
        for _ in range(times):
            engine.send("x")
            engine.ack(engine.receive_one()[1])

    def evaluate() -> None:
        engine.rows(
            "select signalbox._evaluate(counter_id) from signalbox.admission_counter where queue_id = %s",
            engine.queue_id,
        )

    engine = make_engine(max_backlog_messages=5)
    first = open_transaction()
    trade(1)
    evaluate()
    evaluate()
    trade(3)
    second = open_transaction()
    engine.value(FOLD)
    pass_a_minute()
    until(lambda: engine.value("select signalbox.empty_deltas()"), "an emptied slot")
    trade(1)
    first.execute("commit")
    evaluate()

    for number in range(5):
        engine.send(number)
    second.execute("commit")


def test_emptying_does_not_wait(engine: Engine, connect: Connect, pass_a_minute: Callable[[], None]) -> None:
    engine.send("x")
    engine.value(FOLD)
    pass_a_minute()
    reader = connect()
    reader.execute("begin isolation level repeatable read")
    reader.execute("select signalbox.queue_totals()")

    engine.value("select signalbox.empty_deltas()")

    assert deltas(engine) == 1
    reader.execute("commit")
    until(lambda: engine.value("select signalbox.empty_deltas()") >= 0 and not deltas(engine), "an emptied slot")
    assert engine.counted() == engine.recounted()


def test_an_old_snapshot_reads_the_counters_of_its_moment(engine: Engine, connect: Connect) -> None:
    reader = engine.on(connect())
    engine.send("before")
    engine.value(FOLD)
    reader.connection.execute("begin isolation level repeatable read")
    assert reader.counted() == (1, 0, 0, 0, 0)
    handle = engine.receive_one()[1]
    engine.value(FOLD)
    engine.ack(handle)
    for number in range(3):
        engine.send(number)
        engine.value(FOLD)

    assert reader.counted() == reader.recounted() == (1, 0, 0, 0, 0)

    reader.connection.execute("commit")
    assert reader.counted() == reader.recounted() == (3, 0, 0, 0, 0)


@pytest.mark.parametrize("others_commit", [False, True])
def test_a_fold_leaves_the_deltas_of_its_own_transaction_to_a_later_one(
    engine: Engine, connect: Connect, others_commit: bool
) -> None:
    """The aggregation sees its own deltas in no snapshot: whether they are covered depends on other commits."""
    folder, other = engine.on(connect()), engine.on(connect())
    folder.connection.execute("begin")
    folder.send("before the aggregation")
    if others_commit:
        other.send("of another")
    folder.value(FOLD)
    assert published(folder) == 1 + others_commit
    folder.send("after the aggregation")
    assert published(folder) == 2 + others_commit
    folder.connection.execute("commit")

    assert published(engine) == 2 + others_commit
    for _ in range(2):
        engine.value(FOLD)
        assert published(engine) == 2 + others_commit
    assert engine.counted() == engine.recounted()


def test_one_folds_and_the_others_leave_it_alone(engine: Engine, connect: Connect) -> None:
    folder = engine.on(connect())
    engine.send("x")
    folder.connection.execute("begin")
    assert engine.queue_id in folder.value(FOLD)

    assert engine.value(FOLD) is None
    assert published(engine) == 1

    folder.connection.execute("rollback")
    assert engine.queue_id in engine.value(FOLD)
    assert published(engine) == 1


def test_many_folders_count_every_delta_once(engine: Engine, connect: Connect) -> None:
    folders = [connect() for _ in range(3)]
    senders = [engine.on(connect()) for _ in range(2)]

    def fold_often(session: psycopg.Connection[Any]) -> int:
        return sum(session.execute(FOLD).fetchone() != (None,) for _ in range(60))

    def send_often(sender: Engine) -> int:
        for number in range(60):
            with sender.connection.transaction(force_rollback=number % 4 == 0):
                sender.send(number)
        return 45

    folding = [start(fold_often, session) for session in folders]
    sent = sum(finish(call) for call in [start(send_often, sender) for sender in senders])
    assert sum(finish(call) for call in folding) > 0

    assert published(engine) == sent == 90
    engine.value(FOLD)
    assert published(engine) == sent
    assert engine.counted() == engine.recounted()


@pytest.mark.parametrize("step", ["aggregate_counters", "empty_deltas"])
def test_a_step_that_needs_the_latest_commits_refuses_an_older_snapshot(
    engine: Engine, connect: Connect, step: str
) -> None:
    """The lock comes after the snapshot, so the work of another aggregation would be repeated."""
    session = connect()
    session.execute("begin isolation level repeatable read")

    with pytest.raises(psycopg.Error) as caught:
        session.execute(f"select signalbox.{step}()")

    assert caught.value.sqlstate == "SB425"


def test_every_event_is_counted_under_its_own_name(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(max_receives=3)

    def handle() -> str:
        return str(engine.receive_one()[1])

    engine.send("acked", deduplication_id="key")
    engine.send("acked", deduplication_id="key")
    engine.ack(handle())
    engine.send("given back, retried, acked")
    engine.value("select signalbox.change_visibility(%s, 0)", handle())
    engine.nack(handle(), delay_seconds=0)
    engine.ack(handle())
    engine.send("backing off, then purged")
    engine.nack(handle(), delay_seconds=60)
    engine.send("purged", delay_seconds=60)
    engine.value("select signalbox.purge(%s)", engine.queue)
    engine.send("expired, then purged")
    engine.receive_one(visibility_timeout=0)
    engine.value("select signalbox.return_and_promote(array[%s])", engine.queue_id)
    engine.value("select signalbox.purge(%s)", engine.queue)
    engine.value("select signalbox.redrive(array[%s::bigint])", engine.die("rejected, redriven, purged"))
    handle()
    engine.value("select signalbox.purge(%s, null, '{leased}')", engine.queue)
    engine.value("select signalbox.delete_dead_letters(array[%s::bigint])", engine.die("rejected, deleted"))

    counted = engine.rows(
        "select e.name, t.totals[e.event] from signalbox.queue_totals(array[%s::integer]) t, signalbox.counter_event e"
        " where t.totals[e.event] <> 0",
        engine.queue_id,
    )
    assert dict(counted) == {
        "published": 6,
        "published_scheduled": 1,
        "deduplicated": 1,
        "delivered": 9,
        "redelivered": 2,
        "acked": 2,
        "returned": 1,
        "nacked_ready": 1,
        "nacked_scheduled": 1,
        "lease_expired": 1,
        "dead_rejected": 2,
        "redriven": 1,
        "redriven_in": 1,
        "purged_ready": 1,
        "purged_scheduled": 2,
        "purged_leased": 1,
        "purged_dead": 1,
    }


def test_a_rolled_back_send_leaves_not_even_a_counter(engine: Engine, connect: Connect) -> None:
    sender = engine.on(connect())
    sender.connection.execute("begin")
    sender.send("x")
    sender.send("y", delay_seconds=9)
    sender.value("select count(*) from signalbox.send_batch(%s, array['1', '2']::jsonb[])", engine.queue)
    sender.connection.execute("rollback")

    assert engine.value("select totals from signalbox.queue_totals(array[%s])", engine.queue_id) in (
        None,
        [0] * codes.event_count(),
    )
    assert engine.recounted() == (0, 0, 0, 0, 0)
    assert engine.value("select count(*) from signalbox.message where queue_id = %s", engine.queue_id) == 0


def test_a_savepoint_that_is_rolled_back_takes_its_counters_along(engine: Engine, connect: Connect) -> None:
    sender = engine.on(connect())
    with sender.connection.transaction():
        sender.send("kept")
        with sender.connection.transaction(force_rollback=True):
            sender.send("undone")

    assert engine.counted() == engine.recounted() == (1, 0, 0, 0, 0)


def test_announcements_name_every_queue_whose_senders_committed_since_the_last(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    """A sender open at one announcement is in the next, by the snapshots of the aggregation."""
    listener = connect()
    listener.execute("listen signalbox_ready")
    sender = engine.on(connect())
    since = engine.value("select pg_current_snapshot()::text")
    sender.connection.execute("begin")
    sender.send("slow")
    since = observer.execute("select signalbox.announce(%s)::text", [since]).fetchone()
    assert not _names(listener, engine)
    sender.connection.execute("commit")
    since = observer.execute("select signalbox.announce(%s)::text", since).fetchone()

    assert _names(listener, engine)

    observer.execute("select signalbox.announce(%s)::text", since)
    assert not _names(listener, engine)


def _names(listener: psycopg.Connection[Any], engine: Engine) -> bool:
    listener.execute("select 1")  # collects what has arrived
    return any(engine.queue in notice.payload.split(",") for notice in listener.notifies(timeout=0))
