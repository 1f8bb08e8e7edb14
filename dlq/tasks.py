"""The Celery tasks of jobs: each runs one slice of a job and requests the next. The row of a job has its state.

Each worker of the queue of jobs sends a sweep when it starts, and every 15 seconds after that. A sweep finds jobs whose
wake-up was lost or whose worker died. Several sweeps at once change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings

from dlq.discards import discards
from dlq.erasure import erasures
from dlq.jobs import approvals, lifecycle
from dlq.jobs.runner import Ending, Work
from dlq.jobs.wakeup import wake_up
from dlq.redrives import outcomes, redrives
from dlq.redrives.staged import sets
from dlq.trash import deletions, purges, restore

SWEEP_SECONDS = 15.0
OUTCOMES_SECONDS = 5.0
CLEARING_SECONDS = 5.0
WORKS: tuple[Work[Any], ...] = (redrives.WORK, deletions.WORK, purges.WORK, restore.WORK, discards.WORK, erasures.WORK)


def _task(work: Work[Any]) -> Callable[[int], None]:
    """Make the task that runs one slice of a job of this kind and requests the next slice."""

    def run(job_id: int) -> None:
        if work.run_slice(job_id) is Ending.MORE:
            wake_up(work.model.NOUN, job_id)

    task: Callable[[int], None] = shared_task(name=f"dlq.{work.model.NOUN}")(run)
    return task


TASKS = {work.model.NOUN: _task(work) for work in WORKS}


@shared_task(name="dlq.sweep")  # type: ignore[untyped-decorator]
def sweep() -> int:
    """Wake up a worker for every job without a live runner, and return the number of these jobs.

    It also expires approvals whose time is up, and deletes staged messages that no plan needs.
    """
    for work in WORKS:
        approvals.expire(work.model)
    stale = [job for work in WORKS for job in lifecycle.claimable(work.model).order_by("pk").only("pk")]
    for job in stale:
        wake_up(job.NOUN, job.pk)
    sets.clear(CLEARING_SECONDS)
    return len(stale)


@shared_task(name="dlq.outcomes")  # type: ignore[untyped-decorator]
def note_outcomes() -> int:
    """Record outcomes of redriven messages for some seconds, and return the number of redrives that were checked."""
    return outcomes.refresh_watched(OUTCOMES_SECONDS)


@worker_ready.connect  # type: ignore[untyped-decorator]
def sweep_regularly(sender: Any, **_: Any) -> None:
    """Schedule the sweep in the main process of each worker of jobs. This process never connects to the database."""
    if settings.CELERY_TASK_DEFAULT_QUEUE not in sender.app.amqp.queues.consume_from:
        return  # a worker of the pipeline
    sender.timer.call_repeatedly(SWEEP_SECONDS, _send_sweep)  # first: the one now may be refused
    _send_sweep()


def _send_sweep() -> None:
    for task in (sweep, note_outcomes):
        task.apply_async(expires=SWEEP_SECONDS, retry=False)
