"""The possible causes of a backlog, each found guilty with its proof, or ruled out by a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps

from metrics.diagnosis.evidence import Evidence
from metrics.wording import span


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
    PRODUCER_BURST = "producer_burst"
    HOT_KEY = "hot_key"
    PRIORITY_STARVATION = "priority_starvation"
    OLD_SNAPSHOT = "old_snapshot"
    AUTOVACUUM_BEHIND = "autovacuum_behind"
    CLOSED = "closed"
    SCHEDULED = "scheduled_for_later"

    @property
    def words(self) -> str:
        return self.value.replace("_", " ").capitalize()


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
    TENANT = "tenant"


@dataclass(frozen=True)
class Proof:
    """A page about the queue, what to look for in it, and how the link reads."""

    page: Page
    label: str
    search: str = ""


@dataclass(frozen=True)
class Figure:
    """One number that the finding rests on: its name, its value, and both as people read them."""

    name: str
    value: float | str | None
    label: str
    words: str


@dataclass(frozen=True, kw_only=True)
class Found:
    """The words and numbers of a cause that was found."""

    sentence: str
    short: str = ""
    """The same for a row among many."""
    figures: tuple[Figure, ...] = ()
    proof: Proof | None = None
    advice: str = ""


@dataclass(frozen=True, kw_only=True)
class Suspect(Found):
    """One cause that was looked at. `sentence` says why it is the cause, or which number rules it out."""

    cause: Cause
    found: bool


def suspect(cause: Cause) -> Callable[[Callable[[Evidence], Found | str]], Callable[[Evidence], Suspect]]:
    """Make a judge of this cause from a function that answers what it found, or the number that rules it out."""

    def judge(look: Callable[[Evidence], Found | str]) -> Callable[[Evidence], Suspect]:
        @wraps(look)
        def judged(evidence: Evidence) -> Suspect:
            answer = look(evidence)
            if isinstance(answer, str):
                return Suspect(cause=cause, found=False, sentence=answer)
            return Suspect(cause=cause, found=True, **vars(answer))

        return judged

    return judge


def pace(per_second: float) -> str:
    """A rate in the unit in which it is at least one, where there is such a unit: 41.2/s, 3.5/min, 2/h, none."""
    for seconds, unit in ((1, "s"), (60, "min"), (3600, "h")):
        if round(per_second * seconds, 1) >= 1:
            value = per_second * seconds
            return f"{value:,.0f}/{unit}" if value >= 99.95 else f"{value:.1f}".removesuffix(".0") + f"/{unit}"
    return "none"


def percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def over(seconds: float) -> str:
    """The length of a stretch of time that was looked at, rounded to what it means."""
    return span(round(seconds, -1) if seconds >= 60 else seconds)
