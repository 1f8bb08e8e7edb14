"""Every queue's numbers as one snapshot, at most a second old, which pages, sidebar and title share.

A page that shows ten queues of a thousand still has to know which ten are worst, so the snapshot is always
whole; one process reads it once a second however many people watch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.http import HttpRequest

from console.access import roles
from console.overview.verdicts import Health, Verdict, judge
from console.web.sidebar import once_a_request
from queues.control.conditions import Conditions, read_conditions
from queues.counters.queue_numbers import QueueNumbers, read_numbers
from queues.reach import QueueIdentity, Reach

FRESH_SECONDS = 1.0


@dataclass(frozen=True)
class Standing:
    """A queue's numbers and the verdict on them."""

    numbers: QueueNumbers
    verdict: Verdict


def _sum_of(name: str) -> cached_property[Any]:
    """Make a property that adds up one number of all queues."""
    return cached_property(lambda standings: sum(getattr(one.numbers, name) for one in standings.queues))


@dataclass(frozen=True)
class Standings:
    """All queues, worst first. Dead-letter queues are listed apart: their dead letters count at their source queues."""

    queues: Sequence[Standing]
    dead_letter_queues: Sequence[QueueNumbers]
    conditions: Conditions = field(default_factory=Conditions)

    ready = _sum_of("ready")
    leased = _sum_of("leased")
    scheduled = _sum_of("scheduled")
    dead = _sum_of("dead")
    in_per_second = _sum_of("in_per_second")
    out_per_second = _sum_of("out_per_second")
    consumers = _sum_of("consumers")

    def within(self, reach: Reach) -> Standings:
        """Return the standings of the queues within this reach. The totals count only these queues."""
        if reach.is_everything:
            return self
        standings = [one for one in self.queues if reach.holds(one.numbers.name, one.numbers.tenant)]
        # The queues whose dead letters each dead-letter queue keeps, by its id.
        sources: dict[int | None, list[str]] = {}
        for standing in self.queues:
            sources.setdefault(standing.numbers.queue.dead_letter_queue_id, []).append(standing.numbers.name)
        kept = [
            one
            for one in self.dead_letter_queues
            if QueueIdentity(one.name, one.tenant, tuple(sources.get(one.queue_id, ()))).is_within(reach)
        ]
        return Standings(standings, kept, self.conditions)

    @cached_property
    def breaching(self) -> int:
        return sum(standing.verdict.health is Health.BREACHING for standing in self.queues)

    @cached_property
    def dead_alarming(self) -> bool:
        return any(standing.verdict.dead_breached for standing in self.queues)

    @cached_property
    def oldest_seconds(self) -> float | None:
        ages = [standing.verdict.oldest_seconds for standing in self.queues]
        return max((age for age in ages if age is not None), default=None)


_lock = threading.Lock()
_latest: tuple[float, Standings] | None = None


def snapshot() -> Standings:
    """Return standings that are at most FRESH_SECONDS old. Older standings are read again, with three queries.

    The age counts from the end of a read: with thousands of queues, a read takes longer than FRESH_SECONDS, and a page
    that asks several times must not read again each time.
    """
    global _latest
    with _lock:
        if _latest is None or time.monotonic() - _latest[0] > FRESH_SECONDS:
            standings = _read()
            _latest = (time.monotonic(), standings)
        return _latest[1]


@once_a_request
def of_request(request: HttpRequest) -> Standings:
    """Return the standings within the person's reach, computed once a request."""
    return snapshot().within(roles.reach(request.user, "see_metadata"))


def forget() -> None:
    """Drop the snapshot, so that the next page shows what was just done."""
    global _latest
    with _lock:
        _latest = None


def _read() -> Standings:
    numbers = read_numbers()
    standings = [Standing(one, judge(one)) for one in numbers if not one.is_dead_letter_queue]
    standings.sort(key=lambda standing: standing.verdict.order)
    return Standings(standings, [one for one in numbers if one.is_dead_letter_queue], read_conditions())
