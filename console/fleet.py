"""Every queue's numbers as one snapshot, at most a second old, which pages, rail and title share.

A page that shows ten queues of a thousand still has to know which ten are worst, so the snapshot is always
whole; one process reads it once a second however many people watch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from console import conditions, roles
from console.conditions import Conditions
from console.roles import User
from console.verdicts import Health, Verdict, judge
from queues.counters import QueueNumbers, read_numbers
from queues.reach import Place, Reach

FRESH_SECONDS = 1.0


@dataclass(frozen=True)
class Standing:
    """A queue's numbers and what they mean."""

    numbers: QueueNumbers
    verdict: Verdict


@dataclass(frozen=True)
class Fleet:
    """All queues, worst first; dead-letter queues apart, since their dead letters count at their source."""

    standings: Sequence[Standing]
    dead_letter_queues: Sequence[QueueNumbers]
    conditions: Conditions = field(default_factory=Conditions)

    def within(self, reach: Reach) -> Fleet:
        """What of it is reached: its totals are of that alone."""
        if reach.is_everything:
            return self
        standings = [one for one in self.standings if reach.holds(one.numbers.name, one.numbers.tenant)]
        sources = _sources(self.standings)
        kept = [
            one
            for one in self.dead_letter_queues
            if Place(one.name, one.tenant, tuple(sources.get(one.queue_id, ()))).is_within(reach)
        ]
        return Fleet(standings, kept, self.conditions)

    @cached_property
    def breaching(self) -> int:
        return sum(standing.verdict.health is Health.BREACHING for standing in self.standings)

    @cached_property
    def ready(self) -> int:
        return sum(standing.numbers.ready for standing in self.standings)

    @cached_property
    def leased(self) -> int:
        return sum(standing.numbers.leased for standing in self.standings)

    @cached_property
    def scheduled(self) -> int:
        return sum(standing.numbers.scheduled for standing in self.standings)

    @cached_property
    def dead(self) -> int:
        return sum(standing.numbers.dead for standing in self.standings)

    @cached_property
    def dead_alarming(self) -> bool:
        return any(standing.verdict.dead_breached for standing in self.standings)

    @cached_property
    def oldest_seconds(self) -> float | None:
        ages = [standing.verdict.oldest_seconds for standing in self.standings]
        return max((age for age in ages if age is not None), default=None)

    @cached_property
    def in_per_second(self) -> float:
        return sum(standing.numbers.in_per_second for standing in self.standings)

    @cached_property
    def out_per_second(self) -> float:
        return sum(standing.numbers.out_per_second for standing in self.standings)

    @cached_property
    def consumers(self) -> int:
        return sum(standing.numbers.consumers for standing in self.standings)


_lock = threading.Lock()
_latest: tuple[float, Fleet] | None = None


def snapshot() -> Fleet:
    """The fleet as of at most FRESH_SECONDS ago. Three queries when it is older, none otherwise."""
    global _latest
    with _lock:
        now = time.monotonic()
        if _latest is None or now - _latest[0] > FRESH_SECONDS:
            _latest = (now, _read())
        return _latest[1]


def seen_by(user: User) -> Fleet:
    """The fleet as this person may see it; several grants are walked through once for each page."""
    return snapshot().within(roles.reach(user, "see_metadata"))


def forget() -> None:
    """Drop the snapshot, so that the next page shows what was just done."""
    global _latest
    with _lock:
        _latest = None


def _sources(standings: Sequence[Standing]) -> Mapping[int | None, list[str]]:
    """The queues whose dead letters each dead-letter queue keeps, by its id."""
    found: dict[int | None, list[str]] = {}
    for standing in standings:
        found.setdefault(standing.numbers.queue.dead_letter_queue_id, []).append(standing.numbers.name)
    return found


def _read() -> Fleet:
    numbers = read_numbers()
    standings = [Standing(one, judge(one)) for one in numbers if not one.is_dead_letter_queue]
    standings.sort(key=lambda standing: standing.verdict.order)
    return Fleet(standings, [one for one in numbers if one.is_dead_letter_queue], conditions.read())
