"""A purge takes what it named and nothing that came after, one small transaction at a time (hazard 22, invariant 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.naive import NaiveVerbs
from tests.races.sessions import finish, start

Connect = Callable[..., psycopg.Connection[Any]]

STEP = "select signalbox.purge(%s, %s, max_messages => %s)"


def preview(engine: Engine) -> int:
    """Last id when a console asks for confirmation."""
    return int(engine.value("select pg_sequence_last_value('signalbox.message_id')"))


def purge_while_others_send(engine: Engine, purger: Engine) -> set[int]:
    """Purge in small steps, twenty at most, with sends between them. Returns the later sends."""
    for number in range(7):
        engine.send(number)
    bound = preview(engine)
    sent_after = set()
    while len(sent_after) < 20 and purger.value(STEP, engine.queue, bound, 2):
        sent_after.add(engine.send("after"))
    return sent_after


def test_what_is_sent_during_a_purge_stays(engine: Engine) -> None:
    sent_after = purge_while_others_send(engine, engine)

    assert len(sent_after) == 4
    assert {row[0] for row in engine.receive(10)} == sent_after


def test_a_purge_without_a_bound_would_never_end(engine: Engine, naive: NaiveVerbs) -> None:
    naive.install("_purge", {"coalesce(_purge.through_message_id, ": "coalesce("})
    naive.install("purge", {})

    sent_after = purge_while_others_send(engine, naive.engine(engine))

    assert len(sent_after) == 20
    assert len(engine.receive(100)) < 10


@pytest.mark.parametrize("state", ["ready", "scheduled", "leased"])
def test_the_bound_holds_in_every_state(engine: Engine, state: str) -> None:
    delay_seconds = 60 if state == "scheduled" else 0
    before = engine.send("before", delay_seconds=delay_seconds)
    after = engine.send("after", delay_seconds=delay_seconds)
    if state == "leased":
        engine.receive(2)

    assert engine.value("select signalbox.purge(%s, %s, array[%s])", engine.queue, before, state) == 1

    status = "select message_id from signalbox.message_status where queue_id = %s and status <> 'completed'"
    assert engine.rows(status, engine.queue_id) == [(after,)]
    assert engine.counted() == engine.recounted()


def test_a_purge_leaves_what_a_consumer_is_claiming(engine: Engine, connect: Connect) -> None:
    for number in range(4):
        engine.send(number)
    bound = preview(engine)
    claimer = engine.on(connect())
    claimer.connection.execute("begin")
    claimed = {row[0] for row in claimer.receive(2)}

    assert engine.value(STEP, engine.queue, bound, 100) == 2  # and does not wait for the claimer

    claimer.connection.execute("commit")
    assert engine.value(STEP, engine.queue, bound, 100) == 0
    rows = engine.rows("select message_id from signalbox.lease where queue_id = %s", engine.queue_id)
    assert {row[0] for row in rows} == claimed
    assert engine.counted() == engine.recounted() == (0, 0, 2, 0, 0)


@pytest.mark.parametrize("state", ["scheduled", "leased"])
def test_a_purge_leaves_what_another_moves_at_this_moment(engine: Engine, connect: Connect, state: str) -> None:
    """A promotion, or an ack: the purge does not wait for it."""
    for number in range(2):
        engine.send(number, delay_seconds=0.000001 if state == "scheduled" else 0)
    mover, purger = engine.on(connect()), engine.on(connect())
    handle = engine.receive(2)[0][1] if state == "leased" else ""
    purger.connection.execute("set lock_timeout = '1s'")
    mover.connection.execute("begin")
    if state == "leased":
        assert mover.ack(handle) == [True]
    else:
        assert mover.value("select signalbox._promote_due(%s, '-infinity', 1)", engine.queue_id) == 1

    assert purger.value("select signalbox.purge(%s, null, array[%s])", engine.queue, state) == 1

    mover.connection.execute("commit")
    assert engine.counted() == engine.recounted() == (1 if state == "scheduled" else 0, 0, 0, 0, 0)


def test_one_call_takes_no_more_than_it_may_whatever_the_states(engine: Engine) -> None:
    for number in range(3):
        engine.die(number)
    queue = f"{engine.queue}-dlq"
    engine.rows("select signalbox.send(%s, '1')", queue)
    step = "select signalbox.purge(%s, null, '{ready,scheduled,leased,dead}', 2)"

    assert [engine.value(step, queue) for _ in range(3)] == [2, 2, 0]


def test_a_message_claimed_in_vain_is_purged_by_the_next_step(engine: Engine, connect: Connect) -> None:
    engine.send("x")
    bound = preview(engine)
    claimer = engine.on(connect())
    claimer.connection.execute("begin")
    claimer.receive(1)
    assert engine.value(STEP, engine.queue, bound, 100) == 0
    claimer.connection.execute("rollback")

    assert engine.value(STEP, engine.queue, bound, 100) == 1


def test_a_purge_that_is_rolled_back_took_nothing(engine: Engine, connect: Connect) -> None:
    for number in range(3):
        engine.send(number)
    purger = engine.on(connect())
    purger.connection.execute("begin")
    assert purger.value(STEP, engine.queue, None, 100) == 3
    assert engine.receive(10) == []
    purger.connection.execute("rollback")

    assert engine.counted() == engine.recounted() == (3, 0, 0, 0, 0)
    assert engine.value("select count(*) from signalbox.settled where queue_id = %s", engine.queue_id) == 0


def test_two_purges_share_the_work(engine: Engine, connect: Connect) -> None:
    for number in range(60):
        engine.send(number, delay_seconds=0 if number % 2 else 60)
    bound = preview(engine)
    purgers = [engine.on(connect()) for _ in range(3)]

    def purge_all(purger: Engine) -> int:
        taken = 0
        while step := purger.value(STEP, engine.queue, bound, 5):
            taken += step
        return taken

    taken = sum(finish(call) for call in [start(purge_all, purger) for purger in purgers])

    assert taken == 60
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)
    settled = engine.rows(
        "select unnest(message_ids) from signalbox.settled where queue_id = %s and outcome = 'p'", engine.queue_id
    )
    assert len(settled) == len(set(settled)) == 60


def test_a_message_that_dies_after_the_preview_stays(engine: Engine) -> None:
    engine.die("before")
    bound = engine.value("select pg_sequence_last_value('signalbox.dead_letter_id')")
    purge = "select signalbox.purge(%s, states => '{dead}', through_dead_letter_id => %s)"
    engine.die("after")

    assert engine.value(purge, f"{engine.queue}-dlq", bound) == 1

    assert engine.rows("select payload from signalbox.dead_letter where source_queue_id = %s", engine.queue_id) == [
        ("after",)
    ]


def test_ids_are_drawn_one_by_one_so_that_a_bound_means_after(engine: Engine) -> None:
    """A sequence that hands each session a cache of ids would give later messages lower ids."""
    rows = engine.rows(
        "select sequencename, cache_size from pg_sequences where schemaname = 'signalbox'"
        " and sequencename in ('message_id', 'dead_letter_id')"
    )

    assert sorted(rows) == [("dead_letter_id", 1), ("message_id", 1)]


def test_a_clients_purge_does_not_wait_for_an_undo_of_the_one_before(engine: Engine, connect: Connect) -> None:
    engine.send("undone")
    assert engine.value("select signalbox.purge_to_trash(%s)", engine.queue) == 1
    removal = engine.value("select max(trash_batch_id) from signalbox.trash where queue_id = %s", engine.queue_id)
    operator = connect(autocommit=False)
    operator.execute("select signalbox.restore(%s)", [removal])
    engine.send("purged")
    engine.connection.execute("set lock_timeout = '10s'")

    assert engine.value("select signalbox.purge_to_trash(%s)", engine.queue) == 1

    operator.commit()
    assert [row[3] for row in engine.receive(10)] == ["undone"]
    assert engine.value("select count(*) from signalbox.trash where trash_batch_id > %s", removal) == 1
