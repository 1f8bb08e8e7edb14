"""Make, find and take requests for runs. The row says what to run; a message of the broker only points to it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeGuard

from celery.schedules import BaseSchedule, crontab
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from pipeline.request_models import RunRequest
from pipeline.schedules import ACTOR, Schedule

EXPIRES_SECONDS = 600
"""A request that no worker took expires, so that a second press of the button does not start two runs hours later."""
KEPT = timedelta(days=1)
LATE_SECONDS = 60
"""The tolerated difference between the clocks of beat and of a worker."""


def make(kind: str, arguments: Mapping[str, Any] | None = None, *, actor: str) -> RunRequest:
    """Store a request for a run. Removes old requests, except the last of each schedule."""
    old = RunRequest.objects.filter(requested_at__lt=timezone.now() - KEPT)
    old.exclude(pk__in=[last.pk for kind in RunRequest.Kind if (last := _last_scheduled(kind))]).delete()
    row = RunRequest.objects.create(kind=kind, arguments=dict(arguments or {}), requested_by=actor)
    row.refresh_from_db()
    return row


def make_scheduled(kind: str, schedule: Schedule) -> RunRequest | None:
    """Store a request of a schedule when it is due; None when it is not, so that a doubled tick does nothing."""
    with transaction.atomic():
        last = _last_scheduled(kind)
        return make(kind, actor=ACTOR) if _is_due(schedule, last) else None


def waits(request_id: object) -> bool:
    """Whether a request with this id waits for a worker; False for a value that is no id."""
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
    """Whether a value can be the id of a row."""
    return type(value) is int and 0 < value < 2**63


def _waiting(request_id: int) -> QuerySet[RunRequest]:
    since = timezone.now() - timedelta(seconds=EXPIRES_SECONDS)
    return RunRequest.objects.filter(pk=request_id, state=RunRequest.State.REQUESTED, requested_at__gte=since)


def _last_scheduled(kind: str) -> RunRequest | None:
    return RunRequest.objects.filter(kind=kind, requested_by=ACTOR).order_by("-requested_at").first()


def _is_due(schedule: Schedule, last: RunRequest | None) -> bool:
    """Whether half of an interval has passed, since workers may be late, or a moment of a crontab has come."""
    if schedule is None:
        return False
    if last is None:
        return True
    if isinstance(schedule, BaseSchedule):
        return _crontab_left(schedule, last) <= LATE_SECONDS
    return (timezone.now() - last.requested_at).total_seconds() >= schedule / 2


def _crontab_left(schedule: crontab, last: RunRequest) -> float:
    left: timedelta = schedule.remaining_estimate(last.requested_at)
    return left.total_seconds()
