"""What people and alerts did while a chart's numbers moved: redrives, as lines in it and as a list under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.db.models import Q
from django.urls import reverse

from console.charts import Mark
from console.wording import number
from dlq.models import Redrive
from dlq.reaching import seen_among
from metrics.alerts.episodes import WATCHDOGS
from metrics.alerts.models import Alert
from queues.reach import EVERYTHING, Reach

MOST_MARKS = 12


def gather(names: Sequence[str] | None, start: datetime, end: datetime, reach: Reach = EVERYTHING) -> list[Mark]:
    """What happened to these queues (None: to any), the oldest first, numbered; the newest MOST_MARKS of each kind."""
    marks = sorted([*_redrives(names, start, end, reach), *_alerts(names, start, end)], key=lambda mark: mark.at)
    return [replace(mark, number=place) for place, mark in enumerate(marks, 1)]


def _redrives(names: Sequence[str] | None, start: datetime, end: datetime, reach: Reach) -> list[Mark]:
    found = Redrive.objects.filter(started_at__gte=start, started_at__lte=end)
    if names is not None:
        found = found.filter(Q(target_queue__in=names) | Q(source_queues__has_any_keys=list(names)))
    return [
        Mark(
            at=job.started_at,
            number=0,
            words=f"Redrive {job.redrive_id} by {job.created_by} began; {number(job.moved)} sent so far",
            tone="redrive",
            url=reverse("redrive", args=[job.redrive_id]),
        )
        for job in seen_among(reach, found.order_by("-started_at")[:MOST_MARKS])
        if job.started_at
    ]


def _alerts(names: Sequence[str] | None, start: datetime, end: datetime) -> list[Mark]:
    found = Alert.objects.filter(starts_at__gte=start, starts_at__lte=end).exclude(state=Alert.State.PENDING)
    found = found.exclude(name__in=WATCHDOGS)
    if names is not None:
        found = found.filter(queue_name__in=names)
    return [
        Mark(
            at=alert.starts_at,
            number=0,
            words=f"{alert.name} fired" + (f" for {alert.queue_name}" if alert.queue_name else ""),
            tone="bad",
            url=reverse("alerts"),
        )
        for alert in found.order_by("-starts_at")[:MOST_MARKS]
    ]
