"""The few that go first, with consumers that really receive, acknowledge and fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from dlq.jobs.models import Redrive
from dlq.jobs.runner import Ending
from dlq.redrives import canary, redrives, stop_rules
from dlq.redrives.eta import Eta, eta
from queues.database.query import database_now
from queues.dead_letters.ids import newest_id
from queues.models import AuditEvent
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive
from tests.dlq.redrives.consumers import consumer, fail, succeed
from tests.engine import Engine, Row

pytestmark = pytest.mark.timeout(300)  # outcomes come when they come, on a machine that may be busy

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(canary, "POLL_SECONDS", 0.02)
    return


def start(scene: DeadLetterScene, **options: object) -> Redrive:
    return create_redrive(scene.filter, newest_id(), actor="ann", reason="", **options)


def step(job: Redrive) -> tuple[Ending, Redrive]:
    """One slice that does what can be done at once."""
    ending = redrives.run_slice(job.pk, seconds=0)
    job.refresh_from_db()
    return ending, job


def test_the_rest_follows_when_the_canary_lives(scene: DeadLetterScene, connect: Connect) -> None:
    buried = scene.add_dead(60)
    job = start(scene, canary_messages=5)

    with consumer(scene.engine, connect(), succeed):
        job = redrives.run_in_foreground(job.pk)

    assert (job.state, job.moved, job.failed) == ("done", 60, 0)
    assert scene.redriven(job.pk) == buried
    assert job.step_began["step"] >= 3  # 5, then 10, 20, 40


def test_it_stops_by_itself_when_no_outcome_comes(scene: DeadLetterScene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.add_dead(3)
    job = start(scene, canary_messages=2)
    step(job)
    assert step(job)[1].state == "running"
    monkeypatch.setattr(canary, "LONGEST_WAIT", timedelta(0))

    _, job = step(job)

    assert (job.state, job.moved) == ("paused", 2)
    assert job.stopped_because == "Stopped by itself: 2 of 2 outcomes were still unknown after 0 hours."


def test_it_stops_by_itself_when_the_canary_dies(scene: DeadLetterScene, connect: Connect) -> None:
    buried = scene.add_dead(60)
    job = start(scene, canary_messages=10, stop_failed_in_row=0)

    with consumer(scene.engine, connect(), fail):
        job = redrives.run_in_foreground(job.pk)

    assert (job.state, job.moved) == ("paused", 10)
    assert job.stopped_because.startswith("Stopped by itself: ")
    assert "of 10 failed again, more than 20 %." in job.stopped_because
    assert set(buried[10:]) <= set(scene.dead())
    stopped = AuditEvent.objects.get(action="redrive.stop", details__redrive_id=job.pk)
    assert (stopped.actor, stopped.reason) == ("signalbox", job.stopped_because)


def test_it_stops_after_consecutive_failures(scene: DeadLetterScene, connect: Connect) -> None:
    scene.add_dead(60)
    job = start(scene, canary_messages=10, stop_failed_percent=100, stop_failed_in_row=4)

    with consumer(scene.engine, connect(), fail):
        job = redrives.run_in_foreground(job.pk)

    assert (job.state, job.moved) == ("paused", 10)
    assert "in a row failed again." in job.stopped_because


def test_a_few_failures_are_borne(scene: DeadLetterScene, connect: Connect) -> None:
    scene.add_dead(60)
    job = start(scene, canary_messages=10, stop_failed_percent=50)

    def settle(engine: Engine, row: Row) -> None:
        (fail if row[3]["n"] % 5 == 0 else succeed)(engine, row)

    with consumer(scene.engine, connect(), settle):
        job = redrives.run_in_foreground(job.pk)

    assert (job.state, job.moved) == ("done", 60)


def test_a_later_step_is_judged_by_its_own(scene: DeadLetterScene, connect: Connect) -> None:
    """The canary lived; what was under it dies."""
    scene.add_dead(60)
    job = start(scene, canary_messages=5, stop_failed_percent=40, stop_failed_in_row=0)

    def settle(engine: Engine, row: Row) -> None:
        (succeed if row[3]["n"] <= 15 else fail)(engine, row)

    with consumer(scene.engine, connect(), settle):
        job = redrives.run_in_foreground(job.pk)

    assert (job.state, job.moved) == ("paused", 35)  # 5, 10 and 20


def test_it_waits_for_consumers_that_are_dead_and_says_so(scene: DeadLetterScene, connect: Connect) -> None:
    scene.add_dead(20)
    job = start(scene, canary_messages=5)

    step(job)
    ending, job = step(job)

    assert (ending, job.state, job.moved) == (Ending.RESTS, "running", 5)
    assert job.note.startswith("Waiting for 5 of 5 outcomes. ")
    assert f"{scene.queue} has no consumer" in job.note
    assert (step(job)[0], job.moved) == (Ending.RESTS, 5)

    with consumer(scene.engine, connect(), succeed):
        job = redrives.run_in_foreground(job.pk)
    assert (job.state, job.moved, job.note) == ("done", 20, "")


def test_one_of_each_cause_goes_first(scene: DeadLetterScene) -> None:
    many = scene.add_dead(8)
    few = scene.add_dead(3, error_class="KeyError")
    job = start(scene, canary_per_group=True)

    step(job)

    assert scene.redriven(job.pk) == [many[0], few[0]]
    scene.engine.receive(consumer="worker-1")
    assert step(job)[1].moved == 2


def test_who_resumes_it_tries_the_step_again(scene: DeadLetterScene, connect: Connect) -> None:
    scene.add_dead(30)
    job = start(scene, canary_messages=10, stop_failed_in_row=0)
    with consumer(scene.engine, connect(), fail):
        job = redrives.run_in_foreground(job.pk)
    assert (job.state, job.moved) == ("paused", 10)

    assert redrives.resume(job.pk, actor="ann")
    with consumer(scene.engine, connect(), succeed):
        job = redrives.run_in_foreground(job.pk)

    assert (job.state, job.moved, job.stopped_because) == ("done", 30, "")


def test_a_selection_smaller_than_its_canary_is_soon_done(scene: DeadLetterScene) -> None:
    scene.add_dead(3)

    job = redrives.run_in_foreground(start(scene, canary_messages=10).pk)

    assert (job.state, job.moved) == ("done", 3)


def test_the_verdict_of_the_canary_is_kept(scene: DeadLetterScene, connect: Connect) -> None:
    scene.add_dead(30)
    passed = start(scene, canary_messages=5)
    with consumer(scene.engine, connect(), succeed):
        passed = redrives.run_in_foreground(passed.pk)
    scene.add_dead(30)
    failed = start(scene, canary_messages=5, stop_failed_in_row=0)
    with consumer(scene.engine, connect(), fail):
        failed = redrives.run_in_foreground(failed.pk)

    shown = ("size", "passed", "succeeded", "failed", "gone")
    assert [passed.canary[name] for name in shown] == [5, True, 5, 0, 0]
    assert passed.canary["seconds"] >= 0
    assert (failed.canary["passed"], failed.canary["failed"] > 1) == (False, True)
    assert redrives.resume(failed.pk, actor="ann")
    failed.refresh_from_db()
    assert failed.canary == {"size": 5}


def test_without_a_canary_it_stops_when_too_many_fail(scene: DeadLetterScene, connect: Connect) -> None:
    """The rate leaves time for outcomes: what was not sent yet stays a dead letter."""
    scene.add_dead(300)
    job = start(scene, rate_per_second=100, stop_failed_in_row=0)

    with consumer(scene.engine, connect(), fail):
        job = redrives.run_in_foreground(job.pk)

    assert (job.state, job.canary) == ("paused", {})
    assert job.failed >= stop_rules.LEAST_OUTCOMES
    assert "failed again, more than 20 %." in job.stopped_because
    assert job.moved < 300


def test_without_a_canary_it_stops_after_consecutive_failures(scene: DeadLetterScene, connect: Connect) -> None:
    scene.add_dead(300)
    job = start(scene, rate_per_second=100, stop_failed_percent=100)

    with consumer(scene.engine, connect(), fail):
        job = redrives.run_in_foreground(job.pk)

    assert job.stopped_because.endswith("in a row failed again.")
    assert job.moved < 300


def test_without_a_canary_a_resumed_redrive_counts_from_zero(scene: DeadLetterScene, connect: Connect) -> None:
    scene.add_dead(60)
    job = start(scene, rate_per_second=100, stop_failed_in_row=0)
    with consumer(scene.engine, connect(), fail):
        job = redrives.run_in_foreground(job.pk)
    assert job.state == "paused"

    assert redrives.resume(job.pk, actor="ann")
    redrives.set_rate(job.pk, None, actor="ann")
    with consumer(scene.engine, connect(), succeed):
        job = redrives.run_in_foreground(job.pk)

    assert (job.state, job.moved, job.stopped_because) == ("done", 60, "")


def test_rules_that_are_switched_off_stop_nothing(scene: DeadLetterScene, connect: Connect) -> None:
    scene.add_dead(40)
    job = start(scene, rate_per_second=400, stop_failed_percent=100, stop_failed_in_row=0)

    with consumer(scene.engine, connect(), fail):
        job = redrives.run_in_foreground(job.pk)

    assert (job.state, job.moved, stop_rules.rules_of(job)) == ("done", 40, [])


def test_the_estimate_includes_the_waits_of_the_steps(scene: DeadLetterScene) -> None:
    scene.add_dead(100)
    job = start(scene, canary_messages=10, rate_per_second=10)
    now = database_now()
    assert eta(job, now) is None  # how long a step waits is not known

    job.moved, job.state = 10, "running"
    job.step_began["full_at"] = (now - timedelta(seconds=6)).isoformat()
    waiting = eta(job, now)
    assert waiting
    assert (waiting.seconds, waiting.at_least) == (9 + 2 * 6, True)  # the waits of the steps of 20 and 40

    job.step_limit, job.step_began, job.canary = 30, {"step": 1, "moved": 10, "failed": 0}, {"wait_seconds": 6}
    assert eta(job, now) == Eta(9 + 2 * 6)
