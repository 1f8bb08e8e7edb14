"""What stands around every page: the rail with its counts, who is there, and how they like it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.conf import settings
from django.http import HttpRequest
from django.urls import resolve, reverse

from console import fleet, preferences, roles, wording
from console.alert_lines import alerts_within
from console.conditions import Notice
from console.fleet import Fleet
from dlq import approvals
from metrics.alerts import episodes, silences, watchdog
from metrics.alerts.episodes import Episode
from metrics.alerts.models import Alert


@dataclass(frozen=True)
class Entry:
    """One line of the rail."""

    label: str
    url: str
    current: bool
    goto: str  # what the shortcut of one key asks for
    count: str = ""
    count_label: str = ""  # the count in words, for those who hear it
    badge: str = ""  # "bad" is an alarm, "plain" wants notice, empty is a quiet number

    @property
    def is_cut_to_reach(self) -> bool:
        """Whether the page is there for people who see some queues only."""
        return getattr(resolve(self.url).func, "is_cut_to_reach", False)


class Frame:
    """The frame of one page; everything is read when a template first asks for it."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.environment = getattr(settings, "ENVIRONMENT", "")

    @cached_property
    def preferences(self) -> preferences.Preferences:
        return preferences.read(self.request)

    @cached_property
    def preference_switches(self) -> list[tuple[str, str, list[tuple[str, str, bool]]]]:
        """(cookie, label, [(value, label, chosen)]) for each switch at the foot of the rail."""
        labels = {"theme": "Theme", "zone": "Times", "density": "Rows"}
        words = {"utc": "UTC"}
        return [
            (
                name,
                label,
                [
                    (value, words.get(value, value.capitalize()), value == getattr(self.preferences, name))
                    for value in preferences.CHOICES[name]
                ],
            )
            for name, label in labels.items()
        ]

    @cached_property
    def denied(self) -> roles.Denials:
        return roles.Denials(self.request)

    @cached_property
    def role(self) -> str:
        return roles.role_of(self.request.user)

    @cached_property
    def sees_metadata(self) -> bool:
        return self.request.user.is_authenticated and bool(roles.reach(self.request.user, "see_metadata"))

    @cached_property
    def fleet(self) -> Fleet:
        """What of all queues this person sees."""
        return fleet.seen_by(self.request.user)

    @cached_property
    def notices(self) -> Sequence[Notice]:
        """What everybody should know, at the head of each page."""
        if not self.request.user.is_authenticated:
            return ()
        match = self.request.resolver_match
        at_home = match is not None and match.url_name == "overview"
        return tuple(fleet.snapshot().conditions.notices(at_home=at_home))

    @cached_property
    def breaching(self) -> int:
        return self.fleet.breaching if self.sees_metadata else 0

    @cached_property
    def entries(self) -> list[Entry]:
        if not self.sees_metadata:
            return []
        scoped = roles.is_scoped(self.request.user)
        return [entry for entry in self._entries() if not scoped or entry.is_cut_to_reach]

    @cached_property
    def job_counts(self) -> tuple[int, int]:
        """(redrives under way, jobs that wait for a second person)."""
        return (0, 0) if roles.is_scoped(self.request.user) else approvals.counts()

    @cached_property
    def alerts(self) -> Sequence[Episode]:
        """What fires now and is not silenced."""
        if not self.sees_metadata:
            return ()
        return silences.loud(episodes.firing(among=alerts_within(roles.reach(self.request.user, "see_metadata"))))

    @cached_property
    def watchdog_missed_since(self) -> datetime | None:
        """When Prometheus was last heard of, once it is missed and nobody silenced that."""
        seen = watchdog.look()
        missed = Alert(name="SignalboxWatchdogMissing")
        return seen.seen_at if seen.missing and not silences.silencing(silences.active(), missed) else None

    @property
    def awaiting(self) -> int:
        return self.job_counts[1]

    def _entries(self) -> Iterator[Entry]:
        now = self.fleet
        breaching = wording.plural(now.breaching, "queue") + " breaching"
        yield self._entry("Overview", "overview", ("queue", "old"), now.breaching, breaching, "bad")
        dead = wording.plural(now.dead, "dead letter")
        tone = "bad" if now.dead_alarming else ""
        yield self._entry(
            "Dead letters", "dead_letters", ("dead_letter", "clusters", "cluster", "compare"), now.dead, dead, tone
        )
        told = f"{wording.plural(len(self.alerts), 'alert')} firing"
        yield self._entry("Alerts", "alerts", ("alerts", "alert", "runbook", "silences"), len(self.alerts), told, "bad")
        active, asked = self.job_counts
        running = f"{wording.plural(active, 'redrive')} under way"
        yield self._entry("Redrives", "redrives", ("redrive",), active, running, "plain")
        waits = f"{wording.plural(asked, 'job')} waiting for a second person"
        yield self._entry("Approvals", "approvals", ("approvals",), asked, waits, "bad")
        yield self._entry("Trash", "trash", ("trash", "undo"), 0, "", "")
        consumers = wording.plural(now.consumers, "consumer") + " seen in the last minute"
        yield self._entry("Consumers", "consumers", ("consumer",), now.consumers, consumers, "")
        yield self._entry("Streams", "streams", ("streams", "stream", "group"), 0, "", "")
        yield self._entry("History", "history", ("history",), 0, "", "")
        yield self._entry("Pipeline", "pipeline", ("pipeline",), 0, "", "")
        yield self._entry("Tenants", "tenants", ("tenants", "tenant"), 0, "", "")
        yield self._entry("Audit", "audit", ("audit",), 0, "", "")
        if not self.denied["administer"]:
            on = self.fleet.conditions.maintenance is not None
            yield self._entry("Maintenance", "maintenance", ("maintenance",), int(on), "it is on", "plain")
            yield self._entry("Masking", "masking", ("masking",), 0, "", "")
            yield self._entry("Erasures", "erasures", ("erasures", "erasure"), 0, "", "")
            yield self._entry("People", "people", ("people", "person", "api", "grants"), 0, "", "")

    def _entry(self, label: str, name: str, nouns: tuple[str, ...], count: int, words: str, badge: str) -> Entry:
        match = self.request.resolver_match
        here = (match.url_name or "") if match else ""
        return Entry(
            label=label,
            url=reverse(name),
            current=here == name or here.split("_")[0] in nouns,
            goto=name,
            count=wording.number(count) if count else "",
            count_label=words,
            badge=badge if count else "",
        )
