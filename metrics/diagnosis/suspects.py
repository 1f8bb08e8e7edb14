"""The possible causes of a backlog, each confirmed with a proof or ruled out by a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps

from metrics.diagnosis.evidence import Evidence
from metrics.wording import NO_BREAK, span


class Cause(StrEnum):
    """The causes that can be distinguished. Those that stop a queue come before those that slow it."""

    PAUSED = "paused"
    CONSUMER_OUTAGE = "consumer_outage"
    LANES_BLOCKED = "lanes_blocked_by_the_dead"
    QUOTA = "in_flight_limit"
    DOWNSTREAM_THROTTLING = "downstream_throttling"
    POISON_DATA = "poison_data"
    SLOW_CONSUMERS = "slow_consumers"
    FEWER_CONSUMERS = "fewer_consumers"
    DEFERRAL = "deferral"
    PRODUCER_BURST = "producer_burst"
    HOT_KEY = "hot_key"
    PRIORITY_STARVATION = "priority_starvation"
    OLD_SNAPSHOT = "old_snapshot"
    AUTOVACUUM_BEHIND = "autovacuum_behind"
    UPSTREAM = "upstream_lag"
    CLOSED = "closed"
    SCHEDULED = "scheduled_for_later"

    @property
    def words(self) -> str:
        """Return the name of the cause as pages show it."""
        words = "groups blocked by dead letters" if self is Cause.LANES_BLOCKED else self.value.replace("_", " ")
        return words.capitalize()


class Page(StrEnum):
    """The pages that show a proof; the console knows their addresses."""

    AUDIT = "audit"
    CONSUMERS = "consumers"
    DEAD_LETTERS = "dead_letters"
    FAILURES = "failures"
    HISTORY = "history"
    LANES = "lanes"
    OLD_SNAPSHOTS = "old_snapshots"
    READY = "ready"
    SCHEDULED = "scheduled"
    SETTINGS = "settings"
    SUBSCRIPTIONS = "subscriptions"
    TENANT = "tenant"


@dataclass(frozen=True)
class Proof:
    """A link to a page that shows the proof: the page, the link's text, and a search."""

    page: Page
    label: str
    search: str = ""


@dataclass(frozen=True)
class Figure:
    """A number behind a finding: name and value for programs, label and words for people."""

    name: str
    value: float | str | None
    label: str
    words: str


@dataclass(frozen=True, kw_only=True)
class Found:
    """The words and numbers of a cause that was found."""

    sentence: str
    short: str = ""
    """A shorter sentence for a list of queues."""
    figures: tuple[Figure, ...] = ()
    proof: Proof | None = None
    advice: str = ""


@dataclass(frozen=True, kw_only=True)
class Suspect(Found):
    """A cause that was examined. `sentence` says why it is the cause, or which number rules it out."""

    cause: Cause
    found: bool


def suspect(cause: Cause) -> Callable[[Callable[[Evidence], Found | str]], Callable[[Evidence], Suspect]]:
    """Make a function return a `Suspect` that returns a finding, or the words that rule the cause out."""

    def decorated(examine: Callable[[Evidence], Found | str]) -> Callable[[Evidence], Suspect]:
        @wraps(examine)
        def suspected(evidence: Evidence) -> Suspect:
            finding = examine(evidence)
            if isinstance(finding, str):
                return Suspect(cause=cause, found=False, sentence=finding)
            return Suspect(cause=cause, found=True, **vars(finding))

        return suspected

    return decorated


def speed(per_second: float) -> str:
    """Write a rate in the first unit in which it is at least one: 41.2/s, 3.5/min, 2/h, or none."""
    for seconds, unit in ((1, "s"), (60, "min"), (3600, "h")):
        if round(per_second * seconds, 1) >= 1:
            value = per_second * seconds
            return f"{value:,.0f}/{unit}" if value >= 99.95 else f"{value:.1f}".removesuffix(".0") + f"/{unit}"
    return "none"


def percent(share: float) -> str:
    return f"{share * 100:.0f}{NO_BREAK}%"


def period(seconds: float) -> str:
    """Write the length of an observed period, rounded to ten seconds from a minute on."""
    return span(round(seconds, -1) if seconds >= 60 else seconds)
