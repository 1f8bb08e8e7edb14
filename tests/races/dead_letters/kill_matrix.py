"""Jobs that die at a chosen statement of a batch, and the one check that each of them must pass afterwards.

A statement is everything that goes to the database, commits too. A runner dies right before the statement of a
number; the job is then run to its end, and nothing may be lost, twice or miscounted.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from unittest import mock

import psycopg
from django.db import connection, transaction

from dlq.jobs import lifecycle, runner
from dlq.jobs.models import Job
from dlq.redrives import redrives
from dlq.search.checked_filter import check_filter
from dlq.trash import deletions, purges
from queues import bulk_verbs
from queues.dead_letters.ids import newest_id
from tests.dlq.dead_letter_scenes import DeadLetterScene, create_redrive
from tests.dlq.redrives import stagings
from tests.engine import Engine

MESSAGES = 6
BATCH = 2

_watched = threading.local()


@dataclass
class Case:
    """A job under way on messages of its own, and what must be true of it at its end."""

    work: runner.Work[Any]
    job: Job
    engine: Engine
    check: Callable[[Job], None]

    def run_slice(self, seconds: float = 0) -> runner.Ending:
        connection.ensure_connection()
        return self.work.run_slice(self.job.pk, seconds)

    def finish(self) -> None:
        """Run what is left, as if the time of the last one's lease had passed; then look."""
        self.work.model._default_manager.filter(pk=self.job.pk).update(lease_expires_at=None)
        self.check(self.work.run_in_foreground(self.job.pk))
        assert self.engine.counted() == self.engine.recounted()


def redrive_case(scene: DeadLetterScene) -> Case:
    buried = scene.add_dead(MESSAGES)
    job = create_redrive(scene.filter, newest_id(), actor="ann", reason="")

    def check(ended: Any) -> None:
        assert (ended.state, ended.moved, ended.skipped) == ("done", MESSAGES, 0)
        assert scene.redriven(ended.pk) == buried
        assert (scene.dead(), scene.ready()) == ([], MESSAGES)

    return Case(redrives.WORK, job, scene.engine, check)


def deletion_case(scene: DeadLetterScene) -> Case:
    scene.add_dead(MESSAGES)
    job = deletions.create(check_filter(scene.filter), newest_id(), actor="ann", reason="")

    def check(ended: Any) -> None:
        assert (ended.state, ended.deleted, ended.skipped) == ("done", MESSAGES, 0)
        assert (scene.dead(), _removed(scene.engine)) == ([], MESSAGES)

    return Case(deletions.WORK, job, scene.engine, check)


def purge_case(scene: DeadLetterScene) -> Case:
    for number in range(MESSAGES):
        scene.engine.send(number)
    bounds = purges.preview(scene.queue, ["ready"]).bounds
    job = purges.create(scene.queue, ["ready"], bounds, scene.queue, actor="ann", reason="")

    def check(ended: Any) -> None:
        assert (ended.state, ended.purged) == ("done", MESSAGES)
        assert (scene.ready(), _removed(scene.engine)) == (0, MESSAGES)

    return Case(purges.WORK, job, scene.engine, check)


def replay_case(scene: DeadLetterScene) -> Case:
    plan = stagings.planned(scene.engine, MESSAGES)
    job = redrives.run(plan.pk, actor="ann")

    def check(ended: Any) -> None:
        assert (ended.state, ended.moved, ended.skipped) == ("done", MESSAGES, 0)
        assert stagings.sent_to(scene.engine) == list(range(1, MESSAGES + 1))
        assert scene.redriven(ended.pk) == list(range(-MESSAGES, 0))
        assert (stagings.left(plan), scene.ready()) == ([], MESSAGES)

    return Case(redrives.WORK, job, scene.engine, check)


CASES = {"redrive": redrive_case, "replay": replay_case, "deletion": deletion_case, "purge": purge_case}


def _removed(engine: Engine) -> int:
    """Messages in the trash, and in the history as removed: each time that it is there."""
    return int(
        engine.value(
            "select (select count(*) from signalbox.trash t where t.queue_id = %s)"
            " + (select coalesce(sum(cardinality(s.message_ids)), 0) from signalbox.settled s where s.queue_id = %s)",
            engine.queue_id,
            engine.queue_id,
        )
    )


def install_watch(replace: Callable[[Any, str, Any], None]) -> None:
    """Have statements and commits of watched threads announce themselves; `replace` undoes it when all is over."""
    for owner, name in ((psycopg.Cursor, "execute"), (psycopg.Connection, "commit")):
        replace(owner, name, _announced(getattr(owner, name)))


def _announced(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        before = getattr(_watched, "before", None)
        if before:
            before()
        return original(self, *arguments, **named)

    return call


@contextmanager
def before_statement(number: int, act: Callable[[], None]) -> Iterator[list[int]]:
    """Block in which this thread acts right before its statement of that number; the list counts statements."""
    seen = [0]

    def before() -> None:
        seen[0] += 1
        if seen[0] == number:
            _watched.before = None
            act()
            _watched.before = before

    _watched.before = before
    try:
        yield seen
    finally:
        _watched.before = None


def statements_of(case: Case) -> int:
    """Number of statements of the first slice of one batch, with the claim and the release of the job."""
    with before_statement(0, lambda: None) as seen:
        case.run_slice()
    case.finish()
    return seen[0]


def small_batches(replace: Callable[[Any, str, Any], None]) -> None:
    replace(redrives, "BATCH_MESSAGES", BATCH)
    replace(deletions, "BATCH_DEAD_LETTERS", BATCH)
    replace(purges, "BATCH_MESSAGES", BATCH)


# ---- steps that are wrong on purpose

_right_step, _right_move = runner._batch, bulk_verbs.redrive


def commit_separately(work: runner.Work[Any], job_id: int, own: uuid.UUID) -> float | runner.Ending:
    """The messages go in one transaction, where the job stands in another."""
    with transaction.atomic():
        held = lifecycle.hold(work.model, job_id, own)
    if held is None:
        return runner.Ending.STOPPED
    job, now = held
    wait_seconds = work.batch(job, now)
    with transaction.atomic():
        if wait_seconds is None:
            lifecycle.finish(job)
        job.save()
    return runner.Ending.OVER if wait_seconds is None else wait_seconds


def put_the_cursor_first(work: runner.Work[Any], job_id: int, own: uuid.UUID) -> float | runner.Ending:
    """Naive runner that commits its position before the messages are sent."""
    promised: list[Any] = []

    def promise(ids: Any, *rest: Any) -> int:
        promised.append((ids, *rest))
        return len(ids)

    with mock.patch.object(bulk_verbs, "redrive", promise):
        ending = _right_step(work, job_id, own)
    for call in promised:
        _right_move(*call)
    return ending


def hold_without_a_lock(model: Any, job_id: int, own: uuid.UUID) -> tuple[Any, datetime] | None:
    """Naive runner that reads the job without a lock."""
    job = model.objects.annotate(now=lifecycle.DatabaseClock()).filter(pk=job_id, runner=own, state="running").first()
    if job is None:
        return None
    job.last_batch_at = job.now
    job.lease_expires_at = job.now + timedelta(seconds=lifecycle.LEASE_SECONDS)
    return job, job.now
