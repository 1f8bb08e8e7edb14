"""Restored messages come back once, whatever process dies or works beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from dlq.jobs.models import Undo
from dlq.search.checked_filter import check_filter
from dlq.trash import deletions, purges, trash
from dlq.trash import restore as undo
from queues import bulk_verbs
from queues.dead_letters.ids import newest_id
from tests.dlq.dead_letter_scenes import DeadLetterScene, make_dead_letter_scene, scene
from tests.engine import Engine
from tests.races.dead_letters.deaths import die_at_any_moment, expire_lease, nursery
from tests.races.sessions import finish, start, until_waiting

__all__ = ["make_dead_letter_scene", "scene"]

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
@pytest.mark.proof
def test_dead_letters_come_back_once_whatever_dies(scene: DeadLetterScene, dsn: str) -> None:
    buried = scene.add_dead(MESSAGES)
    job = deletions.run_in_foreground(
        deletions.create(check_filter(scene.filter), newest_id(), actor="ann", reason="").pk
    )
    assert scene.dead() == []

    done = run_with_deaths(dsn, undo.create("deletion", job.pk, actor="ben", reason=""))

    assert (done.state, done.restored, done.skipped) == ("done", MESSAGES, 0)
    assert scene.dead() == buried
    assert scene.engine.counted() == scene.engine.recounted()
    assert trash.heap_of(job) is None


@pytest.mark.timeout(300)
@pytest.mark.proof
def test_messages_come_back_once_whatever_dies(commits: None, make_engine: Callable[..., Engine], dsn: str) -> None:
    engine = make_engine(group_max_in_flight=3)
    engine.value(
        "select count(*) from signalbox.send_batch(%s, array(select to_jsonb(n) from generate_series(1, %s) n),"
        " group_ids => array(select case when n %% 2 = 0 then 'lane' end from generate_series(1, %s) n))",
        engine.queue,
        MESSAGES,
        MESSAGES,
    )
    states = ["ready", "waiting"]
    bounds = purges.preview(engine.queue, states).bounds
    job = purges.run_in_foreground(purges.create(engine.queue, states, bounds, engine.queue, actor="ann", reason="").pk)
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
    removal = engine.value("select signalbox.open_trash_batch(3600)")
    engine.value("select signalbox.purge(%s, trash_batch_id => %s)", engine.queue, removal)
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
    removal = engine.value("select signalbox.open_trash_batch(3600)")
    engine.value("select signalbox.purge(%s, trash_batch_id => %s)", engine.queue, removal)
    engine.connection.execute(
        "update signalbox.trash_batch set expires_at = now() - interval '1 hour' where trash_batch_id = %s", [removal]
    )
    saviour = engine.on(connect())

    saviour.connection.execute("begin")
    assert saviour.value("select restored from signalbox.restore(%s)", removal) == 1
    engine.value("select signalbox.empty_trash()")  # does not wait
    saviour.connection.execute("commit")

    assert engine.receive_one()[3] == "contested"
    assert engine.value("select outcome from signalbox.message_outcome(%s)", engine.send("other")) is None
    numbers = "select trashed, restored, emptied from signalbox.trash_batch where trash_batch_id = %s"
    assert engine.rows(numbers, removal) == [(1, 1, 0)]


def test_a_purge_that_is_rolled_back_leaves_nothing_in_the_trash(commits: None, engine: Engine) -> None:
    engine.send("stays")
    removal = bulk_verbs.open_trash_batch(3600)
    engine.connection.execute("begin")
    assert engine.value("select signalbox.purge(%s, trash_batch_id => %s)", engine.queue, removal) == 1
    engine.connection.execute("rollback")

    assert engine.rows("select trashed from signalbox.trash_batch where trash_batch_id = %s", removal) == [(0,)]
    assert engine.rows("select 1 from signalbox.trash where trash_batch_id = %s", removal) == []
    assert engine.receive_one()[3] == "stays"
