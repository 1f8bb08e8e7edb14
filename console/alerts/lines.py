"""Alerts as pages show them: a line for each, with the links that the person on call follows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from console.access import roles
from console.alerts.runbooks import runbook_address
from console.charts.drawing import Mark
from console.charts.markers import MAX_MARKS
from console.web.sidebar import once_a_request
from dlq.filters.syntax import quote
from metrics.alerts import alert_list, silences
from metrics.alerts.alert_list import Episode
from metrics.alerts.models import Alert, Silence
from queues.models import Queue
from queues.reach import Reach

ABOUT_DEAD_LETTERS = ("SignalboxDeadLetters", "SignalboxDeadLetterInflow")
SOURCES = {Alert.Source.PROMETHEUS.value: "Prometheus", Alert.Source.CONSOLE.value: "the console"}
UNHEARD = timedelta(hours=3)  # Alertmanager repeats what fires every hour, see docs/operate/alerts-prometheus.md


@dataclass(frozen=True)
class Line:
    """One episode and where it leads. An empty address means that there is no such page."""

    episode: Episode
    queue_url: str
    letters_url: str
    runbook_url: str
    silence_url: str
    silence: Silence | None
    """The silence that holds back its notifications."""

    @property
    def icon(self) -> str:
        if not self.episode.is_firing:
            return "done"
        if self.silence:
            return "masked"
        return "breaching" if self.episode.severity == "critical" else "watch"

    @property
    def sources(self) -> str:
        return " and ".join(SOURCES.get(source, source) for source in self.episode.sources)

    @property
    def unheard(self) -> bool:
        """Return whether it fires as far as known, but has not been confirmed for long."""
        newest = max(alert.seen_at for alert in self.episode.alerts)
        return self.episode.is_firing and timezone.now() - newest > UNHEARD


def lines(found: Iterable[Episode]) -> list[Line]:
    """The lines of these episodes, silenced ones last. Two queries: which of their queues there are, and silences."""
    found = list(found)
    names = {episode.queue_name for episode in found}
    known = dict(Queue.objects.filter(name__in=names).values_list("name", "is_dead_letter_queue")) if names else {}
    active = silences.active() if any(episode.is_firing for episode in found) else []
    return sorted((_line(episode, known, active) for episode in found), key=lambda line: line.silence is not None)


def alerts_within(reach: Reach) -> QuerySet[Alert]:
    """Alerts about queues within reach; those that name no queue are about all of them."""
    found = Alert.objects.filter(reach.among("queue_name", "tenant_name"))
    return found if reach.is_everything else found.exclude(queue_name="")


@once_a_request
def loud(request: HttpRequest) -> Sequence[Episode]:
    """Alerts that fire now and are not silenced, of the queues that the person sees."""
    reached = roles.reach(request.user, "see_metadata")
    return silences.loud(alert_list.firing(among=alerts_within(reached))) if reached else ()


def watchdog_missed_since() -> datetime | None:
    """The time of Prometheus' last sign of life, once it is missed and no silence covers that."""
    seen = alert_list.read_watchdog()
    missed = Alert(name="SignalboxWatchdogMissing")
    return seen.seen_at if seen.missing and not silences.silencing(silences.active(), missed) else None


def marks_of_alerts(names: Sequence[str] | None, start: datetime, end: datetime, _: Reach) -> list[Mark]:
    """The latest alerts about these queues (None: any), as marks in charts."""
    found = Alert.objects.filter(starts_at__gte=start, starts_at__lte=end).exclude(state=Alert.State.PENDING)
    found = found.exclude(name__in=alert_list.WATCHDOGS)
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
        for alert in found.order_by("-starts_at")[:MAX_MARKS]
    ]


def _line(episode: Episode, known: dict[str, bool], active: Sequence[Silence]) -> Line:
    name = episode.queue_name
    exists = name in known
    return Line(
        episode,
        queue_url=reverse("queue", args=[name]) if exists else "",
        letters_url=_letters_url(episode, is_dead_letter_queue=known[name]) if exists else "",
        runbook_url=runbook_address(episode.runbook_url),
        silence_url=f"{reverse('silences')}?{urlencode({'alert': _pattern(episode.name), 'queue': _pattern(name)})}",
        silence=silences.silencing(active, episode.first) if episode.is_firing else None,
    )


def _letters_url(episode: Episode, *, is_dead_letter_queue: bool) -> str:
    """Return where the failure groups are listed: for a dead-letter queue on its own page.

    Failure groups know in which queue messages died, not where they are kept.
    """
    if is_dead_letter_queue:
        return f"{reverse('queue', args=[episode.queue_name])}#failure-groups"
    if episode.name in ABOUT_DEAD_LETTERS:
        return f"{reverse('failure_groups')}?{urlencode({'q': f'queue:{quote(episode.queue_name)}'})}"
    return ""


def _pattern(name: str) -> str:
    """Return the pattern that a silence can name: rules of others may have any text as their name."""
    return _NOT_IN_A_PATTERN.sub("*", name)


_NOT_IN_A_PATTERN = re.compile(r"[^A-Za-z0-9*._:-]+|^[._:-]+")
