"""Whether word of alerts still gets through: an alert that always fires, and is missed when it does not arrive."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max
from django.utils import timezone

from metrics.alerts.episodes import WATCHDOGS
from metrics.alerts.models import Alert

MISSING_AFTER = timedelta(minutes=5)  # Alertmanager repeats it every minute, as docs/alerts.md configures it


@dataclass(frozen=True)
class Watchdog:
    """What is known of the way from Prometheus to here. `seen_at` is None when no watchdog ever arrived."""

    seen_at: datetime | None
    now: datetime

    @property
    def missing(self) -> bool:
        """One was received once, and none for MISSING_AFTER: whatever Prometheus finds out does not arrive."""
        return self.seen_at is not None and self.now - self.seen_at > MISSING_AFTER


def look(now: datetime | None = None) -> Watchdog:
    """The newest word of a watchdog that fires. One query, by an index."""
    fires = Alert.objects.filter(source=Alert.Source.PROMETHEUS, name__in=WATCHDOGS)
    return Watchdog(fires.aggregate(seen_at=Max("seen_at"))["seen_at"], now or timezone.now())
