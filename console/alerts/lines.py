"""Alerts as pages show them: a line for each alert, with links to its queue, errors, runbook and silence."""

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
SOURCES = {Alert.Source.PROMETHEUS.value: "Prometheus", Alert.Source.CONSOLE.value: "built-in check"}
UNHEARD = timedelta(hours=3)  # Alertmanager repeats what fires every hour, see docs/operate/alerts-prometheus.md


@dataclass(frozen=True)
class Line:
    """One alert and the pages about it. An empty address means that there is no such page."""

    episode: Episode
    queue_url: str
    letters_url: str
    redrive_url: str
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
        """Return whether the alert is firing, and its source has not reported the alert for longer than UNHEARD."""
        newest = max(alert.seen_at for alert in self.episode.alerts)
        return self.episode.is_firing and timezone.now() - newest > UNHEARD


def lines(found: Iterable[Episode]) -> list[Line]:
    """Make the lines of these episodes, silenced ones last. Two queries: the existing queues, and the silences."""
    found = list(found)
    names = {episode.queue_name for episode in found}
    known = dict(Queue.objects.filter(name__in=names).values_list("name", "is_dead_letter_queue")) if names else {}
    active = silences.active() if any(episode.is_firing for episode in found) else []
    return sorted((_line(episode, known, active) for episode in found), key=lambda line: line.silence is not None)


def alerts_within(reach: Reach) -> QuerySet[Alert]:
    """Select the alerts about queues within reach. An alert without a queue needs a reach over every queue."""
    found = Alert.objects.filter(reach.among("queue_name", "tenant_name"))
    return found if reach.is_everything else found.exclude(queue_name="")


@once_a_request
def loud(request: HttpRequest) -> Sequence[Episode]:
    """List the firing alerts about the person's queues, without the silenced ones."""
    reached = roles.reach(request.user, "see_metadata")
    return silences.loud(alert_list.firing(among=alerts_within(reached))) if reached else ()


def watchdog_missed_since() -> datetime | None:
    """Return the time of the last heartbeat of Prometheus if it is overdue and no silence covers it."""
    seen = alert_list.read_watchdog()
    missed = Alert(name="SignalboxWatchdogMissing")
    return seen.seen_at if seen.missing and not silences.silencing(silences.active(), missed) else None


def marks_of_alerts(names: Sequence[str] | None, start: datetime, end: datetime, _: Reach) -> list[Mark]:
    """Return the latest alerts about these queues (None: any) as marks in charts."""
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


def silence_address(alert: str, queue: str) -> str:
    """Return the form of a silence, filled in for this alert (empty: every alert) and queue."""
    return f"{reverse('silences')}?{urlencode({'alert': _pattern(alert), 'queue': _pattern(queue)})}"


def _line(episode: Episode, known: dict[str, bool], active: Sequence[Silence]) -> Line:
    name = episode.queue_name
    exists = name in known
    letters = _letters_url(episode, is_dead_letter_queue=known[name]) if exists else ""
    return Line(
        episode,
        queue_url=reverse("queue", args=[name]) if exists else "",
        letters_url=letters,
        redrive_url=_narrowed("redrive_new", name) if letters else "",
        runbook_url=runbook_address(episode.runbook_url, name),
        silence_url=silence_address(episode.name, name),
        silence=silences.silencing(active, episode.first) if episode.is_firing else None,
    )


def _letters_url(episode: Episode, *, is_dead_letter_queue: bool) -> str:
    """Return the address of the list of failure groups; a dead-letter queue has the list on its own page.

    A failure group records the source queues of its dead letters, not the dead-letter queue.
    """
    if is_dead_letter_queue:
        return f"{reverse('queue', args=[episode.queue_name])}#failure-groups"
    if episode.name in ABOUT_DEAD_LETTERS:
        return _narrowed("failure_groups", episode.queue_name)
    return ""


def _narrowed(page: str, queue: str) -> str:
    """Return the address of a page with a filter for this queue."""
    return f"{reverse(page)}?{urlencode({'q': f'queue:{quote(queue)}'})}"


def _pattern(name: str) -> str:
    """Return a valid pattern for this name: names of foreign alert rules may have any characters."""
    return _NOT_IN_A_PATTERN.sub("*", name)


_NOT_IN_A_PATTERN = re.compile(r"[^A-Za-z0-9*._:-]+|^[._:-]+")
