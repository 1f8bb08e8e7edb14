"""The Celery tasks: each runs one slice of a job and asks for the next. The job's row is the truth, a task only a kick.

Nothing has to run beside the workers: each of them sweeps when it starts and every few seconds from then on, so
that a job whose kick was lost, or whose worker died, goes on. `sweep` is there for a beat as well; more of them
do no harm.
"""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import worker_ready

from dlq import approvals, deletions, jobs, outcomes, purge, redrives, staging, undo
from dlq.erasing import erasures
from dlq.kicks import kick
from dlq.models import Deletion, Erasure, Job, Purge, Redrive, Undo
from dlq.runner import Ending

SWEEP_SECONDS = 15.0
OUTCOMES_SECONDS = 5.0
CLEARING_SECONDS = 5.0
JOB_MODELS: tuple[type[Job], ...] = (Redrive, Deletion, Purge, Undo, Erasure)


@shared_task(name="dlq.redrive")  # type: ignore[untyped-decorator]
def run_redrive(redrive_id: int) -> None:
    """Move dead letters for up to twenty seconds."""
    _again(redrives.run_slice(redrive_id), Redrive, redrive_id)


@shared_task(name="dlq.deletion")  # type: ignore[untyped-decorator]
def run_deletion(deletion_id: int) -> None:
    """Delete dead letters for up to twenty seconds."""
    _again(deletions.run_slice(deletion_id), Deletion, deletion_id)


@shared_task(name="dlq.purge")  # type: ignore[untyped-decorator]
def run_purge(purge_id: int) -> None:
    """Purge messages for up to twenty seconds."""
    _again(purge.run_slice(purge_id), Purge, purge_id)


@shared_task(name="dlq.undo")  # type: ignore[untyped-decorator]
def run_undo(undo_id: int) -> None:
    """Put messages back for up to twenty seconds."""
    _again(undo.run_slice(undo_id), Undo, undo_id)


@shared_task(name="dlq.erasure")  # type: ignore[untyped-decorator]
def run_erasure(erasure_id: int) -> None:
    """Erase for up to twenty seconds."""
    _again(erasures.run_slice(erasure_id), Erasure, erasure_id)


@shared_task(name="dlq.sweep")  # type: ignore[untyped-decorator]
def sweep() -> int:
    """Kick every job that wants a runner and has none that lives; returns how many. Ends what nobody approved, and
    clears away what was staged and is not needed any more.
    """
    for awaiting in JOB_MODELS:
        approvals.expire(awaiting)
    stale = [(model.NOUN, job_id) for model in JOB_MODELS for job_id in _stale(model)]
    for noun, job_id in stale:
        kick(noun, job_id)
    staging.clear(CLEARING_SECONDS)
    return len(stale)


@shared_task(name="dlq.outcomes")  # type: ignore[untyped-decorator]
def note_outcomes() -> int:
    """Look what became of what was redriven, for some seconds; returns how many redrives it looked after."""
    return outcomes.refresh_watched(OUTCOMES_SECONDS)


@worker_ready.connect  # type: ignore[untyped-decorator]
def sweep_regularly(sender: Any, **_: Any) -> None:
    """In each worker's main process, which only sends the task and never touches the database."""
    sender.timer.call_repeatedly(SWEEP_SECONDS, _send_sweep)  # first: the one now may be refused
    _send_sweep()


def _send_sweep() -> None:
    for task in (sweep, note_outcomes):
        task.apply_async(expires=SWEEP_SECONDS, retry=False)


def _stale(model: type[Job]) -> list[int]:
    return list(jobs.claimable(model).order_by("pk").values_list("pk", flat=True))


def _again(ending: Ending, model: type[Job], job_id: int) -> None:
    if ending is Ending.MORE:
        kick(model.NOUN, job_id)
