"""Two at a time, and deaths at any moment: each message is sent again once, and the counts tell the truth."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from dlq.jobs import lifecycle
from dlq.jobs.models import Redrive
from dlq.jobs.runner import Ending
from dlq.redrives import redrives
from queues import bulk_verbs
from queues.dead_letters.ids import newest_id
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive, make_dead_letter_scene, scene
from tests.races.dead_letters.deaths import die_at_any_moment, expire_lease, nursery
from tests.races.sessions import DEADLINE_SECONDS

__all__ = ["make_dead_letter_scene", "scene"]

SEED = 20260101
KILLS = 40
LONG = 600.0


class Gate:
    """Stop a runner in the middle of its first batch, sent but not committed, until its release."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        self._redrive = bulk_verbs.redrive
        monkeypatch.setattr(bulk_verbs, "redrive", self._stop_once)

    def _stop_once(self, *arguments: Any) -> int:
        moved = self._redrive(*arguments)
        if not self.reached.is_set():
            self.reached.set()
            assert self.open.wait(DEADLINE_SECONDS)
        return moved


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    monkeypatch.setattr(lifecycle, "LEASE_SECONDS", LONG)  # no lease ends because a machine is slow
    return Gate(monkeypatch)


@pytest.fixture
def in_thread(commits: None) -> Iterator[Callable[..., Future[Any]]]:
    """Run a function on a thread, and so on a connection, of its own."""

    def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        finally:
            connection.close()

    with ThreadPoolExecutor() as pool:
        yield lambda *arguments, **named: pool.submit(call, *arguments, **named)


def start(scene: DeadLetterScene) -> Redrive:
    return create_redrive(scene.filter, newest_id(), actor="ann", reason="")


def await_waiter(scene: DeadLetterScene, statement: str) -> None:
    """Return once some connection waits for a lock to run such a statement."""
    waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like %s"
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not scene.engine.value(waiting, statement):
        assert time.monotonic() < deadline, f"no session waits with {statement}"
        time.sleep(0.01)


def test_a_doubled_kick_finds_the_job_taken(
    scene: DeadLetterScene, gate: Gate, in_thread: Callable[..., Future[Any]]
) -> None:
    buried = scene.add_dead(20)
    redrive = start(scene)

    first = in_thread(redrives.run_slice, redrive.pk, LONG)
    assert gate.reached.wait(DEADLINE_SECONDS)
    assert redrives.run_slice(redrive.pk) is Ending.TAKEN
    gate.open.set()

    assert first.result(DEADLINE_SECONDS) is Ending.OVER
    redrive.refresh_from_db()
    assert (redrive.moved, redrive.skipped, scene.redriven(redrive.pk)) == (20, 0, buried)


def test_a_lease_that_a_batch_renews_is_not_taken(
    scene: DeadLetterScene, gate: Gate, in_thread: Callable[..., Future[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second runner saw it expired and waited for the row: what counts is what stands there afterwards."""
    monkeypatch.setattr(lifecycle, "_lease_end", lambda: None)
    monkeypatch.setattr(redrives, "BATCH_MESSAGES", 5)
    scene.add_dead(20)
    redrive = start(scene)

    first = in_thread(redrives.run_slice, redrive.pk, LONG)
    assert gate.reached.wait(DEADLINE_SECONDS)
    second = in_thread(redrives.run_slice, redrive.pk, LONG)
    await_waiter(scene, 'UPDATE "redrive"%')
    gate.open.set()

    assert (first.result(DEADLINE_SECONDS), second.result(DEADLINE_SECONDS)) == (Ending.OVER, Ending.TAKEN)


def test_a_runner_that_lost_its_lease_moves_nothing_more(
    scene: DeadLetterScene, gate: Gate, in_thread: Callable[..., Future[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runner slept in its batch until another took over: its commit is whole, and its last."""
    monkeypatch.setattr(redrives, "BATCH_MESSAGES", 5)
    monkeypatch.setattr(lifecycle, "LEASE_SECONDS", -1.0)
    buried = scene.add_dead(20)
    redrive = start(scene)

    slow = in_thread(redrives.run_slice, redrive.pk, LONG)
    assert gate.reached.wait(DEADLINE_SECONDS)
    heir = in_thread(redrives.run_slice, redrive.pk, LONG)
    await_waiter(scene, 'UPDATE "redrive"%')
    gate.open.set()

    assert (slow.result(DEADLINE_SECONDS), heir.result(DEADLINE_SECONDS)) == (Ending.STOPPED, Ending.OVER)
    redrive.refresh_from_db()
    assert (redrive.state, redrive.moved, redrive.skipped) == ("done", 20, 0)
    assert scene.redriven(redrive.pk) == buried


@pytest.mark.parametrize(("verb", "state"), [(redrives.pause, "paused"), (redrives.cancel, "cancelled")])
def test_stopping_waits_for_the_batch_under_way_and_for_no_other(
    scene: DeadLetterScene,
    gate: Gate,
    in_thread: Callable[..., Future[Any]],
    monkeypatch: pytest.MonkeyPatch,
    verb: Callable[..., bool],
    state: str,
) -> None:
    monkeypatch.setattr(redrives, "BATCH_MESSAGES", 5)
    buried = scene.add_dead(20)
    redrive = start(scene)

    running = in_thread(redrives.run_slice, redrive.pk, LONG)
    assert gate.reached.wait(DEADLINE_SECONDS)
    stopping = in_thread(verb, redrive.pk, actor="bob")
    await_waiter(scene, 'UPDATE "redrive"%')
    gate.open.set()

    assert stopping.result(DEADLINE_SECONDS)
    assert running.result(DEADLINE_SECONDS) is Ending.STOPPED
    redrive.refresh_from_db()
    assert redrive.state == state
    assert scene.dead() == buried[redrive.moved :]
    assert scene.redriven(redrive.pk) == buried[: redrive.moved]


def test_a_redrive_that_ends_first_is_not_cancelled(
    scene: DeadLetterScene, gate: Gate, in_thread: Callable[..., Future[Any]]
) -> None:
    scene.add_dead(3)
    redrive = start(scene)

    running = in_thread(redrives.run_slice, redrive.pk, LONG)
    assert gate.reached.wait(DEADLINE_SECONDS)
    cancelling = in_thread(redrives.cancel, redrive.pk, actor="bob")
    await_waiter(scene, 'UPDATE "redrive"%')
    gate.open.set()

    assert running.result(DEADLINE_SECONDS) is Ending.OVER
    assert not cancelling.result(DEADLINE_SECONDS)
    redrive.refresh_from_db()
    assert redrive.state == "done"


def test_two_redrives_of_the_same_letters_share_them(
    scene: DeadLetterScene, gate: Gate, in_thread: Callable[..., Future[Any]]
) -> None:
    buried = scene.add_dead(20)
    one, other = start(scene), start(scene)

    first = in_thread(redrives.run_slice, one.pk, LONG)
    assert gate.reached.wait(DEADLINE_SECONDS)
    assert redrives.run_in_foreground(other.pk).state == "done"
    gate.open.set()

    assert first.result(DEADLINE_SECONDS) is Ending.OVER
    one.refresh_from_db()
    other.refresh_from_db()
    assert (one.moved, other.moved, other.skipped) == (20, 0, 20)
    assert scene.redriven(one.pk) + scene.redriven(other.pk) == buried
    assert scene.ready() == 20


@pytest.mark.timeout(900)
@pytest.mark.proof
def test_a_redrive_survives_the_death_of_its_runner_at_any_moment(scene: DeadLetterScene, dsn: str) -> None:
    buried = scene.add_dead(10_000)
    redrive = start(scene)

    with nursery(dsn) as ask:  # batches so small that no machine is done before the last kill
        die_at_any_moment(ask, redrive, batch=4, kills=KILLS, seed=SEED)
    died_at = redrive.moved
    expire_lease(redrive)
    redrive = redrives.run_in_foreground(redrive.pk)

    assert 0 < died_at < 10_000
    assert (redrive.state, redrive.moved, redrive.skipped) == ("done", 10_000, 0)
    assert scene.redriven(redrive.pk) == buried
    assert (scene.dead(), scene.ready()) == ([], 10_000)
    assert scene.engine.counted() == scene.engine.recounted()
