"""Acknowledge firing alerts, so that others see who works on them. An acknowledgement ends with its alert."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from metrics.alerts.models import Alert
from queues import audit
from queues.models import Queue

MAX_ALERTS = 100
"""The limit of alerts that one request acknowledges. One cause has fewer alerts."""


def acknowledge(alerts: QuerySet[Alert], *, actor: str) -> int:
    """Note that this person works on the alerts, as far as they fire. Return how many alerts changed."""
    with transaction.atomic():
        changed = _locked(alerts.exclude(acknowledged_by=actor))
        _write(changed, acknowledged_by=actor, acknowledged_at=timezone.now())
        _record("alert.acknowledge", changed, actor)
    return len(changed)


def withdraw(alerts: QuerySet[Alert], *, actor: str) -> int:
    """Remove the acknowledgement of the alerts, as far as they fire. Return how many alerts changed."""
    with transaction.atomic():
        changed = _locked(alerts.exclude(acknowledged_by=""))
        _write(changed, acknowledged_by="", acknowledged_at=None)
        _record("alert.acknowledge_end", changed, actor)
    return len(changed)


def _locked(alerts: QuerySet[Alert]) -> list[Alert]:
    """Lock the alerts that fire, in the order in which every writer locks them."""
    firing = alerts.filter(state=Alert.State.FIRING).order_by("fingerprint", "starts_at")
    return list(firing.select_for_update()[:MAX_ALERTS])


def _write(alerts: Sequence[Alert], **values: object) -> None:
    Alert.objects.filter(pk__in=[alert.pk for alert in alerts]).update(**values)


def _record(action: str, alerts: Sequence[Alert], actor: str) -> None:
    """Write one audit row for each queue."""
    names: dict[str, list[str]] = {}
    for alert in alerts:
        names.setdefault(alert.queue_name, []).append(alert.name)
    for queue_name, of_queue in sorted(names.items()):
        queue = Queue.objects.filter(name=queue_name).first() if queue_name else None
        audit.record(actor, action, queue, "", {"alerts": sorted(set(of_queue)), "queue": queue_name})
