"""Alerts that nobody needs any more go: what was last heard of long ago, and the oldest where there are too many."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from metrics.alerts.models import Alert, Notification, Silence

MOST_ROWS = 100_000
MOST_AT_ONCE = 10_000


def forget() -> int:
    """Delete what ALERTS_KEEP_DAYS has not been heard of, and resolved rows above MOST_ROWS; how many went.

    At most MOST_AT_ONCE of each, so that no call takes long.
    """
    stale = Alert.objects.filter(seen_at__lt=timezone.now() - timedelta(days=settings.ALERTS_KEEP_DAYS))
    _forget_what_was_told()
    return _delete(list(stale.values_list("pk", flat=True)[:MOST_AT_ONCE])) + _delete(_above_the_most())


def _forget_what_was_told() -> None:
    """Notifications, and silences that are over; the audit keeps who silenced what."""
    before = timezone.now() - timedelta(days=settings.ALERTS_KEEP_DAYS)
    for query in (Notification.objects.filter(created_at__lt=before), Silence.objects.filter(ends_at__lt=before)):
        query.model.objects.filter(pk__in=list(query.values_list("pk", flat=True)[:MOST_AT_ONCE])).delete()


def _above_the_most() -> list[int]:
    resolved = Alert.objects.filter(state=Alert.State.RESOLVED).order_by("-alert_id")
    return list(resolved.values_list("pk", flat=True)[MOST_ROWS : MOST_ROWS + MOST_AT_ONCE])


def _delete(alert_ids: list[int]) -> int:
    return Alert.objects.filter(pk__in=alert_ids).delete()[0] if alert_ids else 0
