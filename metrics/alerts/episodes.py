"""What a page shows: one line for each (alert, queue), whoever found it out, firing ones first.

Prometheus and the console's own evaluator may both know of the same trouble; two lines about it would be noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from metrics.alerts.models import Alert
from metrics.alerts.own_rules import INSTALLATION_RULES

MOST_FIRING = 1_000
SEVERITIES = ("critical", "warning")  # worst first; any other word comes after them
OF_THE_INSTALLATION = (
    "SignalboxMaintenanceOverdue",
    "SignalboxClockAhead",
    *(rule.name for rule in INSTALLATION_RULES),
)
"""About no queue, and one thing whoever says it: the console's labels are not those of Prometheus."""
WATCHDOGS = ("SignalboxWatchdog", "Watchdog")
"""Alerts that fire always: they say nothing but that word gets through."""


@dataclass(frozen=True)
class Episode:
    """Rows that speak of the same trouble at the same time, the one that began first in front."""

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
        """What is said of it: by the console where it knows, since its values are of now; the same words once."""
        own = [alert for alert in self.alerts if alert.source == Alert.Source.CONSOLE]
        return list(dict.fromkeys(alert.description for alert in own or self.alerts if alert.description))

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
        """When the last source said that it is over; None while one says that it is not."""
        if self.is_firing:
            return None
        return max((alert.resolved_at for alert in self.alerts if alert.resolved_at), default=None)


def firing(*queues: str, among: QuerySet[Alert] | None = None) -> list[Episode]:
    """What fires now, worst first, the newest of equals first; of these queues when named. One query."""
    found = told(among).filter(state=Alert.State.FIRING)
    if queues:
        found = found.filter(queue_name__in=queues)
    episodes = merge(found.order_by("starts_at", "alert_id")[:MOST_FIRING])
    episodes.sort(key=lambda one: one.since, reverse=True)
    return sorted(episodes, key=lambda one: _rank(one.severity))


def told(among: QuerySet[Alert] | None = None) -> QuerySet[Alert]:
    """Alerts that people see: all that fire or fired, but the watchdog, which is no trouble."""
    found = Alert.objects.all() if among is None else among
    return found.exclude(name__in=WATCHDOGS).exclude(state=Alert.State.PENDING)


def merge(alerts: Iterable[Alert]) -> list[Episode]:
    """Rows of the same alert and queue whose times overlap, as one; in the order in which each was first met."""
    episodes: list[list[Alert]] = []
    open_episodes: dict[tuple[str, ...], list[list[Alert]]] = {}
    for alert in alerts:
        known = open_episodes.setdefault(_subject(alert), [])
        episode = next((one for one in known if any(_overlap(alert, other) for other in one)), None)
        if episode is None:
            episode = []
            known.append(episode)
            episodes.append(episode)
        episode.append(alert)
    return [Episode(sorted(one, key=lambda alert: (alert.starts_at, alert.alert_id))) for one in episodes]


def _subject(alert: Alert) -> tuple[str, ...]:
    """What the alert is about: of those that name no queue, everything that their labels say."""
    if alert.queue_name:
        return alert.name, alert.tenant_name, alert.queue_name
    if alert.name in OF_THE_INSTALLATION:
        return (alert.name,)
    return (alert.name, *(f"{name}={value}" for name, value in sorted(alert.labels.items())))


def _overlap(one: Alert, other: Alert) -> bool:
    return _begins_before_end(one, other) and _begins_before_end(other, one)


def _begins_before_end(one: Alert, other: Alert) -> bool:
    return other.resolved_at is None or one.starts_at <= other.resolved_at


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)
