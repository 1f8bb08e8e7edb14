"""Alerts as pages show them: a line for each, with the links that somebody follows who is woken by it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from console.runbooks import runbook_address
from dlq.filters.syntax import quote
from metrics.alerts import episodes, silences
from metrics.alerts.episodes import Episode
from metrics.alerts.models import Alert, Silence
from queues.models import Queue
from queues.reach import Reach

ABOUT_DEAD_LETTERS = ("SignalboxDeadLetters", "SignalboxDeadLetterInflow")
SOURCES = {Alert.Source.PROMETHEUS.value: "Prometheus", Alert.Source.CONSOLE.value: "the console"}
UNHEARD = timedelta(hours=3)  # Alertmanager repeats what fires every hour, as docs/alerts.md configures it


@dataclass(frozen=True)
class Line:
    """One episode and where it leads. An empty address means that there is no such page."""

    episode: Episode
    queue_url: str
    letters_url: str
    runbook_url: str
    silence_url: str
    silence: Silence | None
    """What keeps people from being told of it."""

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
        """It fires as far as anybody knows, but nobody has said so for long."""
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


def of_queues(*names: str) -> Sequence[Line]:
    """What fires now about these queues. Three queries at most."""
    return lines(episodes.firing(*names))


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
    """The causes of what died. A dead-letter queue's own page has them: clusters know where messages died, not where
    they are kept."""
    if is_dead_letter_queue:
        return f"{reverse('queue', args=[episode.queue_name])}#clusters"
    if episode.name in ABOUT_DEAD_LETTERS:
        return f"{reverse('clusters')}?{urlencode({'q': f'queue:{quote(episode.queue_name)}'})}"
    return ""


def _pattern(name: str) -> str:
    """What a silence can name: other rules than ours may have any text as their name."""
    return _NOT_IN_A_PATTERN.sub("*", name)


_NOT_IN_A_PATTERN = re.compile(r"[^A-Za-z0-9*._:-]+|^[._:-]+")
