"""Rows of the page Alerts: one for each cause, with the actions that the person on call needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from console.alerts.lines import Line, silence_address
from metrics.alerts.alert_list import Episode
from metrics.alerts.causes import BACKLOG, FAMILY_OF, cause_of
from metrics.alerts.models import Alert


@dataclass(frozen=True)
class Cause:
    """Firing alerts with one reason, the most severe first."""

    lines: Sequence[Line]

    @property
    def first(self) -> Line:
        return self.lines[0]

    @property
    def id(self) -> int:
        return self.first.episode.first.pk

    @property
    def tone(self) -> str:
        if self.first.silence:
            return "quiet"
        return "bad" if self.first.episode.severity == "critical" or self.redrive_url else "warn"

    @property
    def icon(self) -> str:
        return "breaching" if self.tone == "bad" else self.first.icon

    @property
    def details(self) -> list[str]:
        """The texts below the first sentence: the other descriptions, each once."""
        texts = [text for line in self.lines for text in (line.episode.sentence, *line.episode.descriptions)]
        return [text for text in dict.fromkeys(texts) if text != self.first.episode.sentence]

    @property
    def since(self) -> datetime:
        return min(line.episode.since for line in self.lines)

    @property
    def letters_url(self) -> str:
        return next((line.letters_url for line in self.lines if line.letters_url), "")

    @property
    def redrive_url(self) -> str:
        return next((line.redrive_url for line in self.lines if line.redrive_url), "")

    @property
    def why_url(self) -> str:
        """The diagnosis of the queue, for alerts about its backlog."""
        is_backlog = FAMILY_OF.get(self.first.episode.name) == BACKLOG
        return f"{self.first.queue_url}#why" if self.first.queue_url and is_backlog else ""

    @property
    def silence_url(self) -> str:
        """The form of a silence: for the one alert, or for every alert of the queue."""
        if len(self.lines) == 1:
            return self.first.silence_url
        return silence_address("", self.first.episode.queue_name)

    @property
    def alert_ids(self) -> list[int]:
        return [alert.pk for line in self.lines for alert in line.episode.alerts if alert.state == Alert.State.FIRING]

    @property
    def acknowledged(self) -> Alert | None:
        """The last acknowledgement; None unless every alert of the cause has one."""
        rows = [line.episode.acknowledged for line in self.lines]
        known = [row for row in rows if row is not None]
        return max(known, key=lambda row: row.acknowledged_at) if len(known) == len(rows) else None


def group(lines: Iterable[Line]) -> list[Cause]:
    """Group lines by cause, in their order. Silenced alerts stay apart from the others of their cause."""
    causes: dict[tuple[object, ...], list[Line]] = {}
    for line in lines:
        causes.setdefault((*cause_of(line.episode), line.silence is None), []).append(line)
    return [Cause(found) for found in causes.values()]


def count(episodes: Iterable[Episode]) -> int:
    """Count the causes of these alerts."""
    return len({cause_of(episode) for episode in episodes})
