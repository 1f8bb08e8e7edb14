"""Job workers and their load, for the page of a job that waits: read from presence rows and from leases of jobs.

A page never asks Celery: an inspection waits for answers of every worker, and a busy worker answers late.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings

from dlq.discards.models import Discard
from dlq.erasure.models import Erasure
from dlq.jobs import lifecycle
from dlq.jobs.models import Deletion, Job, Purge, Redrive, Undo
from queues.database.query import database_now
from queues.models import Consumer

MODELS: tuple[type[Job], ...] = (Redrive, Deletion, Purge, Undo, Discard, Erasure)
# A worker writes its presence row every ten seconds.
PRESENT = timedelta(seconds=30)
MAX_COUNTED = 100


@dataclass(frozen=True)
class JobWorkers:
    """Job workers that are present, and jobs that they run at this moment."""

    present: int | None
    """None where the broker is not the database: its workers write no presence rows."""
    running: int
    """Other jobs that a worker holds, at most `MAX_COUNTED` of each kind."""


def read(waiting: Job) -> JobWorkers:
    """Count the workers, and the jobs that run while this one waits. Six queries, each by a small index."""
    return JobWorkers(present(settings.CELERY_TASK_DEFAULT_QUEUE), sum(_running(model, waiting) for model in MODELS))


def present(tasks: str) -> int | None:
    """Count the workers that consume this queue of Celery; None where its broker is not the database."""
    if not settings.BROKER_IS_DATABASE:
        return None
    workers = Consumer.objects.filter(queue__name=tasks)
    return workers.filter(last_seen_at__gte=database_now() - PRESENT).count()


def waits_for_worker(job: Job) -> bool:
    """Tell whether a job is to be run and no live worker holds it."""
    held = job.lease_expires_at is not None and job.lease_expires_at > database_now()
    return job.state in Job.RUNNABLE_STATES and not held


def _running(model: type[Job], waiting: Job) -> int:
    jobs = model._default_manager.filter(state=Job.State.RUNNING, lease_expires_at__gt=lifecycle.DatabaseClock())
    return jobs.exclude(pk=waiting.pk if isinstance(waiting, model) else None)[:MAX_COUNTED].count()
