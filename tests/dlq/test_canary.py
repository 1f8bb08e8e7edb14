"""The few that go first, with consumers that really receive, acknowledge and fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from dlq import canary, redrives
from dlq.models import Redrive
from dlq.runner import Ending
from dlq.selecting import newest_id
from queues.models import AuditEvent
from tests.dlq.consumers import consumer, fail, succeed
from tests.dlq.graveyards import Graveyard
from tests.engine import Engine, Row

pytestmark = pytest.mark.timeout(300)  # outcomes come when they come, on a machine that may be busy

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(canary, "POLL_SECONDS", 0.02)
    return


def start(graveyard: Graveyard, **options: object) -> Redrive:
    return redrives.create(graveyard.filter, newest_id(), actor="ann", reason="", **options)


def step(job: Redrive) -> tuple[Ending, Redrive]:
    """One slice that does what can be done at once."""
    ending = redrives.run_slice(job.pk, seconds=0)
    job.refresh_from_db()
    return ending, job


def test_the_rest_follows_when_the_canary_lives(graveyard: Graveyard, connect: Connect) -> None:
    buried = graveyard.bury(60)
    job = start(graveyard, canary_messages=5)

    with consumer(graveyard.engine, connect(), succeed):
        job = redrives.run_in_foreground(job.pk)

    assert (job.state, job.moved, job.failed) == ("done", 60, 0)
    assert graveyard.redriven(job.pk) == buried
    assert job.step_began["step"] >= 3  # 5, then 10, 20, 40


def test_it_stops_by_itself_when_the_canary_dies(graveyard: Graveyard, connect: Connect) -> None:
    buried = graveyard.bury(60)
    job = start(graveyard, canary_messages=10, stop_failed_in_row=0)

    with consumer(graveyard.engine, connect(), fail):
        job = redrives.run_in_foreground(job.pk)

    assert (job.state, job.moved) == ("paused", 10)
    assert job.stopped_because.startswith("Stopped by itself: ")
    assert "of 10 failed again, more than 20 %." in job.stopped_because
    assert set(buried[10:]) <= set(graveyard.dead())
    stopped = AuditEvent.objects.get(action="redrive.stop", details__redrive_id=job.pk)
    assert (stopped.actor, stopped.reason) == ("signalbox", job.stopped_because)


def test_it_stops_after_so_many_failures_in_a_row(graveyard: Graveyard, connect: Connect) -> None:
    graveyard.bury(60)
    job = start(graveyard, canary_messages=10, stop_failed_percent=100, stop_failed_in_row=4)

    with consumer(graveyard.engine, connect(), fail):
        job = redrives.run_in_foreground(job.pk)

    assert (job.state, job.moved) == ("paused", 10)
    assert "in a row failed again." in job.stopped_because


def test_a_few_failures_are_borne(graveyard: Graveyard, connect: Connect) -> None:
    graveyard.bury(60)
    job = start(graveyard, canary_messages=10, stop_failed_percent=50)

    def settle(engine: Engine, row: Row) -> None:
        (fail if row[3]["n"] % 5 == 0 else succeed)(engine, row)

    with consumer(graveyard.engine, connect(), settle):
        job = redrives.run_in_foreground(job.pk)

    assert (job.state, job.moved) == ("done", 60)


def test_a_later_step_is_judged_by_its_own(graveyard: Graveyard, connect: Connect) -> None:
    """The canary lived; what was under it dies."""
    graveyard.bury(60)
    job = start(graveyard, canary_messages=5, stop_failed_percent=40, stop_failed_in_row=0)

    def settle(engine: Engine, row: Row) -> None:
        (succeed if row[3]["n"] <= 15 else fail)(engine, row)

    with consumer(graveyard.engine, connect(), settle):
        job = redrives.run_in_foreground(job.pk)

    assert (job.state, job.moved) == ("paused", 35)  # 5, 10 and 20


def test_it_waits_for_consumers_that_are_dead_and_says_so(graveyard: Graveyard, connect: Connect) -> None:
    graveyard.bury(20)
    job = start(graveyard, canary_messages=5)

    step(job)
    ending, job = step(job)

    assert (ending, job.state, job.moved) == (Ending.RESTS, "running", 5)
    assert job.note.startswith("Waits for what becomes of 5 of 5. ")
    assert f"{graveyard.queue} has no consumer" in job.note
    assert (step(job)[0], job.moved) == (Ending.RESTS, 5)

    with consumer(graveyard.engine, connect(), succeed):
        job = redrives.run_in_foreground(job.pk)
    assert (job.state, job.moved, job.note) == ("done", 20, "")


def test_one_of_each_cause_goes_first(graveyard: Graveyard) -> None:
    many = graveyard.bury(8)
    few = graveyard.bury(3, error_class="KeyError")
    job = start(graveyard, canary_per_cluster=True)

    step(job)

    assert graveyard.redriven(job.pk) == [many[0], few[0]]
    graveyard.engine.receive(consumer="worker-1")
    assert step(job)[1].moved == 2


def test_who_resumes_it_tries_the_step_again(graveyard: Graveyard, connect: Connect) -> None:
    graveyard.bury(30)
    job = start(graveyard, canary_messages=10, stop_failed_in_row=0)
    with consumer(graveyard.engine, connect(), fail):
        job = redrives.run_in_foreground(job.pk)
    assert (job.state, job.moved) == ("paused", 10)

    assert redrives.resume(job.pk, actor="ann")
    with consumer(graveyard.engine, connect(), succeed):
        job = redrives.run_in_foreground(job.pk)

    assert (job.state, job.moved, job.stopped_because) == ("done", 30, "")


def test_a_selection_smaller_than_its_canary_is_soon_done(graveyard: Graveyard) -> None:
    graveyard.bury(3)

    job = redrives.run_in_foreground(start(graveyard, canary_messages=10).pk)

    assert (job.state, job.moved) == ("done", 3)
