"""The life of a job: pending -> running -> done, paused or cancelled by people, failed by a permanent error.

Every step is one conditional UPDATE: of two concurrent steps one wins, and the other returns False. A runner holds the
lock of the row during each batch and reads the state again, so a pause takes effect with the next batch.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import models, transaction
from django.db.models import F, Func, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from dlq.jobs import approval_rules
from dlq.jobs.models import Job
from dlq.jobs.wakeup import wake_up
from queues import audit
from queues.models import Queue

# A runner renews its lease with every batch. Batches and waits are much shorter than this.
LEASE_SECONDS = 10.0
ENGINE = "signalbox"  # the actor of steps that no person requested
# The rule that applies to each kind of job, checked once, when the job is created.
RULE_OF = {
    "redrive": "redrive_above",
    "deletion": "purge_or_deletion_above",
    "purge": "purge_or_deletion_above",
    "undo": "undo_above",
}
OPERATOR_LIMITED = {"deletion", "purge", "undo"}

J = TypeVar("J", bound=Job)


class DatabaseClock(Func):
    """The time of the database at this moment; now() is the time at which the transaction began."""

    function = "clock_timestamp"
    output_field = models.DateTimeField()


def start(job: J, *, wake: bool = True, limited: bool = False, fingerprints: Sequence[str] = ()) -> J:
    """Save a new job with its audit row, and wake up a worker unless the job needs approval.

    Without `wake` no worker is woken: the caller runs the job. `limited`: the operator's limit applies to the actor.
    The audit row keeps the `fingerprints`, so that each failure group finds the jobs that touch it.
    """
    job.reason = job.reason[:500]
    with transaction.atomic():
        hold_back(job, limited)
        job.save(force_insert=True)
        job.refresh_from_db()
        verb, details = (
            "ask" if job.is_awaiting else "create",
            {"fingerprints": [*fingerprints]} if fingerprints else {},
        )
        record(job, verb, job.created_by, job.reason, **details)
        if wake and not job.is_awaiting:
            wake_up(job.NOUN, job.pk)
    return job


def threshold(noun: str, limited: bool = False) -> int | None:
    """Return the number of messages that such a job may touch without approval; None: any number.

    `limited`: the operator's limit applies too.
    """
    if noun not in RULE_OF:
        return None
    rules = approval_rules.values()
    limits = [rules[RULE_OF[noun]], rules["operator_limit"] if limited and noun in OPERATOR_LIMITED else 0]
    return min(filter(None, limits), default=None)


def hold_back(job: Job, limited: bool = False) -> None:
    """Let a new job await approval if it is too large, or if its messages could not be counted."""
    most = threshold(job.rule_noun, limited)
    if most is None or (job.total_is_exact and job.total_estimate <= most):
        return
    job.state = Job.State.AWAITING
    job.needs_approval = True
    job.approval_expires_at = timezone.now() + timedelta(hours=approval_rules.values()["expiry"])


def pause(model: type[Job], job_id: int, *, actor: str, reason: str = "") -> bool:
    """Pause the job after the current batch. False when the job was not pending or running."""
    return _change(model, job_id, "pause", actor, reason, Job.RUNNABLE_STATES, state=Job.State.PAUSED)


def resume(model: type[Job], job_id: int, *, actor: str, reason: str = "", **fields: Any) -> bool:
    """Continue a paused job, with these fields set. False when the job was not paused."""
    values = {"state": Job.State.PENDING, **fields}
    resumed = _change(model, job_id, "resume", actor, reason, [Job.State.PAUSED], **values)
    if resumed:
        wake_up(model.NOUN, job_id)
    return resumed


def cancel(model: type[Job], job_id: int, *, actor: str, reason: str = "") -> bool:
    """Cancel the job after the current batch; the other messages stay. False when the job has already ended."""
    ended = {"state": Job.State.CANCELLED, "finished_at": DatabaseClock(), **model.FORGOTTEN}
    return _change(model, job_id, "cancel", actor, reason, Job.UNDECIDED_STATES, **ended)


def fail(model: type[Job], job_id: int, error: str) -> bool:
    """End the job with an error. False when the job has already ended."""
    ended = {"state": Job.State.FAILED, "finished_at": DatabaseClock(), "error": error, **model.FORGOTTEN}
    return _change(model, job_id, "fail", ENGINE, error, Job.ACTIVE_STATES, **ended)


def finish(job: Job) -> None:
    """End the job within the transaction of its last batch, which holds the row."""
    job.state = Job.State.DONE
    job.finished_at = job.last_batch_at
    for name, value in job.FORGOTTEN.items():
        setattr(job, name, value)
    record(job, "finish", ENGINE)


def record(job: Job, verb: str, actor: str, reason: str = "", **details: Any) -> None:
    """Add a row to the audit, in the transaction of the step that it describes."""
    queue = Queue.objects.filter(name=job.about_queue).first() if job.about_queue else None
    audit.record(actor, f"{job.NOUN}.{verb}", queue, reason, job.summary() | details)


def claim(model: type[Job], job_id: int, runner: uuid.UUID) -> bool:
    """Take the lease of the job. False when another runner holds it, or when the job must not run."""
    return bool(
        claimable(model)
        .filter(pk=job_id)
        .update(
            state=Job.State.RUNNING,
            runner=runner,
            lease_expires_at=_lease_end(),
            started_at=Coalesce(F("started_at"), DatabaseClock()),
        )
    )


def claimable(model: type[J]) -> QuerySet[J]:
    """Select the jobs that must run and have no live runner."""
    free = Q(lease_expires_at=None) | Q(lease_expires_at__lt=DatabaseClock())
    return model._default_manager.filter(free, state__in=Job.RUNNABLE_STATES)


def hold(model: type[J], job_id: int, runner: uuid.UUID) -> tuple[J, datetime] | None:
    """Lock the job for one batch, and return it with the time of the database; None when this runner must stop.

    The lock makes each message move once: it lasts until the batch, the cursor and the counts commit.
    """
    job = (
        model._default_manager.select_for_update()
        .annotate(now=DatabaseClock())
        .filter(pk=job_id, runner=runner, state=Job.State.RUNNING)
        .first()
    )
    if job is None:
        return None
    now: datetime = job.now  # type: ignore[attr-defined]
    job.last_batch_at = now
    job.lease_expires_at = now + timedelta(seconds=LEASE_SECONDS)
    return job, now


def release(model: type[Job], job_id: int, runner: uuid.UUID) -> None:
    """Give up the lease, so that another process may run the job at once."""
    model._default_manager.filter(pk=job_id, runner=runner).update(runner=None, lease_expires_at=None)


def _lease_end() -> models.Expression:
    seconds = models.Value(timedelta(seconds=LEASE_SECONDS), output_field=models.DurationField())
    return models.ExpressionWrapper(DatabaseClock() + seconds, output_field=models.DateTimeField())


def _change(model: type[Job], job_id: int, verb: str, actor: str, reason: str, states: Any, **values: Any) -> bool:
    with transaction.atomic():
        if not model._default_manager.filter(pk=job_id, state__in=states).update(**values):
            return False
        record(model._default_manager.get(pk=job_id), verb, actor, reason)
        return True
