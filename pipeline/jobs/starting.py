"""Start and cancel pipeline runs: store a request, record it in the audit, and send a task to a worker.

A task carries only the id of the request's row, so a forged task cannot start a run that no person requested.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeGuard

import psycopg
from celery import current_app
from celery.schedules import BaseSchedule
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from kombu.exceptions import OperationalError

from pipeline.jobs.schedules import ACTOR, EXPIRES_SECONDS, Schedule
from pipeline.models import Run, RunRequest
from queues import audit
from signalbox import SignalboxError
from signalbox.logs import in_brief

log = logging.getLogger(__name__)

CONNECT_SECONDS = 1.0  # a person waits for a page
KEPT = timedelta(days=1)
LATE_SECONDS = 60
"""The tolerated difference between the clocks of beat and of a worker."""


def start(kind: str, *, actor: str, reason: str = "", **given: Any) -> bool:
    """Request a run from a worker; a run that is under way makes it end at once. False when the broker is down."""
    with transaction.atomic():
        request = make(kind, given, actor=actor)
        audit.record(actor, f"pipeline.{kind}", reason=reason, details={"request_id": request.pk, **given})
    announced = announce("pipeline.run", request.pk, EXPIRES_SECONDS, f"the pipeline's {kind}")
    if not announced:
        refuse(request.pk)
    return announced


def announce(task: str, row_id: int, expires_seconds: float, what: str) -> bool:
    """Send the task of a row to a worker. False when the broker is down.

    A broker in our database may also refuse: before its migration, or while the queue is closed.
    """
    try:
        with current_app.connection_for_write(connect_timeout=CONNECT_SECONDS) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=CONNECT_SECONDS)
            current_app.send_task(task, args=[row_id], expires=expires_seconds, retry=False, connection=broker)
    except (OperationalError, OSError, psycopg.Error, SignalboxError) as error:
        log.warning("the task for %s was not sent: %s", what, in_brief(error))
        return False
    return True


def cancel(run_id: int, *, actor: str, reason: str = "") -> bool:
    """Cancel a run: its queries are interrupted, and its results do not count. False when it has ended."""
    with transaction.atomic():
        running = Run.objects.filter(pk=run_id, state=Run.State.RUNNING, cancel_requested=False)
        if not running.update(cancel_requested=True):
            return False
        audit.record(actor, "pipeline.cancel", reason=reason, details={"run_id": run_id})
        return True


def make(kind: str, arguments: Mapping[str, Any] | None = None, *, actor: str) -> RunRequest:
    """Store a request for a run. Removes old requests, except the last of each schedule."""
    old = RunRequest.objects.filter(requested_at__lt=timezone.now() - KEPT)
    old.exclude(pk__in=[last.pk for kind in Run.Kind if (last := last_scheduled(kind))]).delete()
    row = RunRequest.objects.create(kind=kind, arguments=dict(arguments or {}), requested_by=actor)
    row.refresh_from_db()
    return row


def make_scheduled(kind: str, schedule: Schedule) -> RunRequest | None:
    """Store a request of a schedule when it is due; None when it is not, so that a doubled tick does nothing."""
    with transaction.atomic():
        last = last_scheduled(kind)
        return make(kind, actor=ACTOR) if _is_due(schedule, last) else None


def waits(request_id: object) -> bool:
    """Tell whether a request with this id waits for a worker; False for a value that is no id."""
    return is_id(request_id) and _waiting(request_id).exists()


def take(request_id: int) -> RunRequest | None:
    """Take a request; None when another worker took it, it is too old, or it does not exist."""
    with transaction.atomic():
        row: RunRequest | None = _waiting(request_id).select_for_update(skip_locked=True).first()
        if row is not None:
            RunRequest.objects.filter(pk=row.pk).update(state=RunRequest.State.TAKEN, taken_at=Now(), arguments={})
        return row


def refuse(request_id: int) -> None:
    """Close a request whose task could not be sent. The page has reported that, so no worker may run it later."""
    waiting = RunRequest.objects.filter(pk=request_id, state=RunRequest.State.REQUESTED)
    waiting.update(state=RunRequest.State.REFUSED, arguments={})


def is_id(value: object) -> TypeGuard[int]:
    """Tell whether a value can be the id of a row."""
    return type(value) is int and 0 < value < 2**63


def _waiting(request_id: int) -> QuerySet[RunRequest]:
    since = timezone.now() - timedelta(seconds=EXPIRES_SECONDS)
    return RunRequest.objects.filter(pk=request_id, state=RunRequest.State.REQUESTED, requested_at__gte=since)


def last_scheduled(kind: str) -> RunRequest | None:
    """Return the last request that a schedule made for this kind of run."""
    return RunRequest.objects.filter(kind=kind, requested_by=ACTOR).order_by("-requested_at").first()


def _is_due(schedule: Schedule, last: RunRequest | None) -> bool:
    """Tell whether a crontab time has come, or half of an interval has passed: workers may be late."""
    if schedule is None:
        return False
    if last is None:
        return True
    if isinstance(schedule, BaseSchedule):
        left: timedelta = schedule.remaining_estimate(last.requested_at)
        return left.total_seconds() <= LATE_SECONDS
    return (timezone.now() - last.requested_at).total_seconds() >= schedule / 2
