"""The list of alerts on pages: one entry for each alert and queue, firing ones first.

Prometheus and Signalbox may both report an alert; the list has one entry for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, QuerySet
from django.utils import timezone

from metrics.alerts.conditions import INSTALLATION_CONDITIONS
from metrics.alerts.models import Alert

MAX_FIRING = 1_000
SEVERITIES = ("critical", "warning")  # the most severe first; unknown severities come last
WATCHDOGS = ("SignalboxWatchdog", "Watchdog")
"""Alerts of Prometheus that always fire. When none arrives, other alerts do not arrive either."""
MISSING_AFTER = timedelta(minutes=5)  # Alertmanager repeats it every minute, see docs/operate/alerts-prometheus.md


@dataclass(frozen=True)
class Episode:
    """Rows of one alert and queue whose times overlap, the earliest first."""

    alerts: Sequence[Alert]

    @property
    def first(self) -> Alert:
        return self.alerts[0]

    @property
    def name(self) -> str:
        return self.first.name

    @property
    def queue_name(self) -> str:
        return self.first.queue_name

    @property
    def tenant_name(self) -> str:
        return self.first.tenant_name

    @property
    def severity(self) -> str:
        return min((alert.severity for alert in self.alerts), key=_rank)

    @property
    def summary(self) -> str:
        return next((alert.summary for alert in self.alerts if alert.summary), "")

    @property
    def descriptions(self) -> list[str]:
        """Descriptions without duplicates: those of Signalbox, whose values are newer, or else those of Prometheus."""
        own = [alert for alert in self.alerts if alert.source == Alert.Source.CONSOLE]
        return list(dict.fromkeys(alert.description for alert in own or self.alerts if alert.description))

    @property
    def sentence(self) -> str:
        """The problem in one sentence: the description of a queue's alert, with its values; otherwise the summary."""
        described = self.descriptions[0] if self.queue_name and self.descriptions else ""
        return described or self.summary or self.name

    @property
    def acknowledged(self) -> Alert | None:
        """The row that a person acknowledged last; None while no person did."""
        moments = {alert.acknowledged_at: alert for alert in self.alerts if alert.acknowledged_at}
        return moments[max(moments)] if moments else None

    @property
    def sources(self) -> list[str]:
        return sorted({alert.source for alert in self.alerts})

    @property
    def runbook_url(self) -> str:
        return next((alert.runbook_url for alert in self.alerts if alert.runbook_url), "")

    @property
    def is_firing(self) -> bool:
        return any(alert.state == Alert.State.FIRING for alert in self.alerts)

    @property
    def since(self) -> datetime:
        return self.first.starts_at

    @property
    def resolved_at(self) -> datetime | None:
        """The time at which the last source resolved it; None while it fires."""
        if self.is_firing:
            return None
        return max((alert.resolved_at for alert in self.alerts if alert.resolved_at), default=None)


def firing(*queues: str, among: QuerySet[Alert] | None = None) -> list[Episode]:
    """List the alerts that fire now, of these queues or of all: most severe first, then the newest. One query."""
    alerts = shown(among).filter(state=Alert.State.FIRING)
    if queues:
        alerts = alerts.filter(queue_name__in=queues)
    episodes = merge(alerts.order_by("starts_at", "alert_id")[:MAX_FIRING])
    episodes.sort(key=lambda episode: episode.since, reverse=True)
    return sorted(episodes, key=lambda episode: _rank(episode.severity))


def shown(among: QuerySet[Alert] | None = None) -> QuerySet[Alert]:
    """Keep the alerts that pages show: those that fire or fired, without watchdogs."""
    alerts = Alert.objects.all() if among is None else among
    return alerts.exclude(name__in=WATCHDOGS).exclude(state=Alert.State.PENDING)


@dataclass(frozen=True)
class Watchdog:
    """The last arrival of the watchdog; `seen_at` is None when it never arrived."""

    seen_at: datetime | None
    now: datetime

    @property
    def missing(self) -> bool:
        """True when the last watchdog arrived more than MISSING_AFTER ago; False when none ever arrived."""
        return self.seen_at is not None and self.now - self.seen_at > MISSING_AFTER


def read_watchdog(now: datetime | None = None) -> Watchdog:
    """Read the newest arrival of a watchdog that fires. One query, by an index."""
    fires = Alert.objects.filter(source=Alert.Source.PROMETHEUS, name__in=WATCHDOGS)
    return Watchdog(fires.aggregate(seen_at=Max("seen_at"))["seen_at"], now or timezone.now())


def merge(alerts: Iterable[Alert]) -> list[Episode]:
    """Merge rows of the same alert and queue whose times overlap, in the order of their first rows."""
    episodes: list[list[Alert]] = []
    open_episodes: dict[tuple[str, ...], list[list[Alert]]] = {}
    for alert in alerts:
        known = open_episodes.setdefault(_subject(alert), [])
        episode = next((rows for rows in known if any(_overlap(alert, row) for row in rows)), None)
        if episode is None:
            episode = []
            known.append(episode)
            episodes.append(episode)
        episode.append(alert)
    return [Episode(sorted(rows, key=lambda alert: (alert.starts_at, alert.alert_id))) for rows in episodes]


def _subject(alert: Alert) -> tuple[str, ...]:
    """Identify what the alert is about: its queue, or all of its labels where it names none."""
    if alert.queue_name:
        return alert.name, alert.tenant_name, alert.queue_name
    if alert.name in INSTALLATION_CONDITIONS:  # the labels of Signalbox are not those of Prometheus
        return (alert.name,)
    return (alert.name, *(f"{name}={value}" for name, value in sorted(alert.labels.items())))


def _overlap(alert: Alert, other: Alert) -> bool:
    return _begins_before_end(alert, other) and _begins_before_end(other, alert)


def _begins_before_end(alert: Alert, other: Alert) -> bool:
    return other.resolved_at is None or alert.starts_at <= other.resolved_at


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)
