"""Celery tasks of alerts: delete old alerts, notifications and silences, and the oldest alerts above a limit."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from metrics.alerts.models import Alert, Notification, Silence

FORGET_SECONDS = 600.0
MAX_ROWS = 100_000
MAX_AT_ONCE = 10_000


@shared_task(name="metrics.forget_alerts")  # type: ignore[untyped-decorator]
def forget_alerts() -> int:
    """Delete alerts not seen for ALERTS_KEEP_DAYS, and resolved ones above MAX_ROWS; return how many.

    At most MAX_AT_ONCE of each, so that no call takes long. Several at a time do no harm. The audit keeps who
    made each silence.
    """
    before = timezone.now() - timedelta(days=settings.ALERTS_KEEP_DAYS)
    _delete(Notification.objects.filter(created_at__lt=before))
    _delete(Silence.objects.filter(ends_at__lt=before))
    resolved = Alert.objects.filter(state=Alert.State.RESOLVED).order_by("-alert_id")
    return _delete(Alert.objects.filter(seen_at__lt=before)) + _delete(resolved, MAX_ROWS)


@worker_ready.connect  # type: ignore[untyped-decorator]
def forget_regularly(sender: Any, **_: Any) -> None:
    """Send the task regularly from each worker's main process, which never touches the database."""
    _send()
    sender.timer.call_repeatedly(FORGET_SECONDS, _send)


def _delete(rows: QuerySet[Any], after: int = 0) -> int:
    ids = list(rows.values_list("pk", flat=True)[after : after + MAX_AT_ONCE])
    return int(rows.model.objects.filter(pk__in=ids).delete()[0]) if ids else 0


def _send() -> None:
    forget_alerts.apply_async(expires=FORGET_SECONDS, retry=False)
