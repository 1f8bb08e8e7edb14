"""What comes back out of the trash comes back once, whoever dies on the way and whoever else is at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from dlq import deletions, purge, trash, undo, verbs
from dlq.models import Undo
from dlq.selecting import newest_id
from tests.dlq.graveyards import Graveyard, graveyard, make_graveyard
from tests.engine import Engine
from tests.races.deaths import die_at_any_moment, expire_lease, nursery
from tests.races.sessions import finish, start, until_waiting

__all__ = ["graveyard", "make_graveyard"]

Connect = Callable[..., psycopg.Connection[Any]]

SEED = 20260102
KILLS = 15
MESSAGES = 3_000


def run_with_deaths(dsn: str, job: Undo) -> Undo:
    """Kill runners in the middle again and again, then let one go to the end."""
    with nursery(dsn) as ask:  # batches so small that no death comes too late
        die_at_any_moment(ask, job, batch=3, kills=KILLS, seed=SEED)
    expire_lease(job)
    return undo.run_in_foreground(job.pk)


@pytest.mark.timeout(300)
def test_dead_letters_come_back_once_whatever_dies(graveyard: Graveyard, dsn: str) -> None:
    buried = graveyard.bury(MESSAGES)
    job = deletions.run_in_foreground(deletions.create(graveyard.filter, newest_id(), actor="ann", reason="").pk)
    assert graveyard.dead() == []

    done = run_with_deaths(dsn, undo.create("deletion", job.pk, actor="ben", reason=""))

    assert (done.state, done.restored, done.skipped) == ("done", MESSAGES, 0)
    assert graveyard.dead() == buried
    assert graveyard.engine.counted() == graveyard.engine.recounted()
    assert trash.heap_of(job) is None


@pytest.mark.timeout(300)
def test_messages_come_back_once_whatever_dies(commits: None, make_engine: Callable[..., Engine], dsn: str) -> None:
    engine = make_engine(lane_max_in_flight=3)
    engine.value(
        "select count(*) from signalbox.send_batch(%s, array(select to_jsonb(n) from generate_series(1, %s) n),"
        " group_ids => array(select case when n %% 2 = 0 then 'lane' end from generate_series(1, %s) n))",
        engine.queue,
        MESSAGES,
        MESSAGES,
    )
    states = ["ready", "waiting"]
    bounds = purge.preview(engine.queue, states).bounds
    job = purge.run_in_foreground(purge.create(engine.queue, states, bounds, engine.queue, actor="ann", reason="").pk)
    assert job.purged == MESSAGES

    done = run_with_deaths(dsn, undo.create("purge", job.pk, actor="ben", reason=""))

    assert (done.state, done.restored, done.skipped) == ("done", MESSAGES, 0)
    assert engine.waiting() == MESSAGES // 2
    assert engine.counted() == engine.recounted() == (MESSAGES // 2, 0, 0, 0, 0)
    payloads = engine.rows(
        "select count(distinct m.payload) from signalbox.message m where m.queue_id = %s and m.message_id in ("
        "select message_id from signalbox.ready union all select message_id from signalbox.waiting)",
        engine.queue_id,
    )
    assert payloads == [(MESSAGES,)]


def test_two_that_put_back_the_same_share_it(commits: None, engine: Engine, connect: Connect) -> None:
    sent = [engine.send(n) for n in range(6)]
    removal = engine.value("select signalbox.open_removal(3600)")
    engine.value("select signalbox.purge(%s, removal_id => %s)", engine.queue, removal)
    first, second = engine.on(connect()), engine.on(connect())
    restore = "select restored from signalbox.restore(%s, max_messages => 4)"

    first.connection.execute("begin")
    assert first.value(restore, removal) == 4
    other = start(second.value, restore, removal)
    until_waiting(engine.connection, second.connection)
    first.connection.execute("commit")

    assert finish(other) == 2
    assert sorted(row[0] for row in engine.receive(10)) == sent
    assert engine.counted() == engine.recounted()


def test_emptying_passes_by_what_is_being_put_back(commits: None, engine: Engine, connect: Connect) -> None:
    engine.send("contested")
    removal = engine.value("select signalbox.open_removal(3600)")
    engine.value("select signalbox.purge(%s, removal_id => %s)", engine.queue, removal)
    engine.connection.execute(
        "update signalbox.removal set expires_at = now() - interval '1 hour' where removal_id = %s", [removal]
    )
    saviour = engine.on(connect())

    saviour.connection.execute("begin")
    assert saviour.value("select restored from signalbox.restore(%s)", removal) == 1
    engine.value("select signalbox.empty_trash()")  # waits for nobody
    saviour.connection.execute("commit")

    assert engine.receive_one()[3] == "contested"
    assert engine.value("select outcome from signalbox.message_outcome(%s)", engine.send("other")) is None
    numbers = "select trashed, restored, emptied from signalbox.removal where removal_id = %s"
    assert engine.rows(numbers, removal) == [(1, 1, 0)]


def test_a_purge_that_is_rolled_back_leaves_nothing_in_the_trash(commits: None, engine: Engine) -> None:
    engine.send("stays")
    removal = verbs.open_removal(3600)
    engine.connection.execute("begin")
    assert engine.value("select signalbox.purge(%s, removal_id => %s)", engine.queue, removal) == 1
    engine.connection.execute("rollback")

    assert engine.rows("select trashed from signalbox.removal where removal_id = %s", removal) == [(0,)]
    assert engine.rows("select 1 from signalbox.trash where removal_id = %s", removal) == []
    assert engine.receive_one()[3] == "stays"
