"""Causes of the newest dead letters: error classes, each with an example, its queues and its failures over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from dlq.filters import Filter, Present
from dlq.search.checked_filter import CheckedFilter
from dlq.search.finding import find
from queues.database.time_limits import LIST_MILLISECONDS, OutOfTime, time_limit
from queues.dead_letters import rows as dead_letter_rows
from queues.dead_letters.ids import Order

NEWEST = 1_000  # the number of dead letters that are read at most
MAX_CAUSES = 12
SPARK_POINTS = 60


@dataclass(frozen=True)
class Cause:
    """Dead letters of one error class among the newest; `deaths` counts them over time, oldest first."""

    error_class: str | None
    reason: str
    error: str | None
    count: int
    sources: Sequence[str]
    holders: Sequence[str]
    """The dead-letter queues that keep these dead letters."""
    first_at: datetime
    last_at: datetime
    redriven: int
    deaths: Sequence[float]
    narrowed: str
    """The filter that selects only these dead letters."""

    @property
    def words(self) -> str:
        return class_words(self.error_class, self.reason)


@dataclass(frozen=True)
class Causes:
    """The causes, commonest first, among the `looked_at` newest dead letters; `more` is true if there are older ones.

    `in_time` is false if the database needed too long, and then there are no causes.
    """

    causes: Sequence[Cause] = ()
    looked_at: int = 0
    more: bool = False
    in_time: bool = True


@dataclass(frozen=True)
class _Death:
    error_class: str | None
    reason: str
    error: str | None
    source_queue: str
    queue: str
    died_at: datetime
    redrive_count: int


def class_words(error_class: str | None, reason: str) -> str:
    """Return the class of an error, or the words for an error without a class."""
    unnamed = {"lock_expired": "Timed out", "rejected": "Rejected"}
    return error_class or unnamed.get(reason, "Failed without a class")


def read(filter: CheckedFilter) -> Causes:
    """Count the causes of the newest NEWEST dead letters that the filter selects. One query."""
    try:
        with time_limit(LIST_MILLISECONDS):
            ids = find(filter, datetime.now(UTC)).ids(NEWEST + 1, Order.NEWEST_FIRST)
            deaths = [_Death(*row) for row in dead_letter_rows.failures(ids).rows()]
    except OutOfTime:
        return Causes(in_time=False)
    newest = deaths[:NEWEST]
    groups: dict[tuple[str | None, str], list[_Death]] = {}
    for death in newest:
        groups.setdefault((death.error_class, "" if death.error_class else death.reason), []).append(death)
    ranked = sorted(groups.values(), key=len, reverse=True)[:MAX_CAUSES]
    moments = [death.died_at for death in newest]
    causes = [_cause(group, min(moments), max(moments), filter.filter) for group in ranked]
    return Causes(causes, len(newest), more=len(deaths) > NEWEST)


def _cause(group: list[_Death], first: datetime, last: datetime, filter: Filter) -> Cause:
    newest = group[0]
    moments = [death.died_at for death in group]
    return Cause(
        error_class=newest.error_class,
        reason=newest.reason,
        error=newest.error,
        count=len(group),
        sources=sorted({death.source_queue for death in group}),
        holders=sorted({death.queue for death in group}),
        first_at=min(moments),
        last_at=max(moments),
        redriven=sum(death.redrive_count > 0 for death in group),
        deaths=_over_time(moments, first, last),
        narrowed=_narrowed(filter, newest),
    )


def _narrowed(filter: Filter, death: _Death) -> str:
    """Return the filter, narrowed to this cause."""
    if death.error_class is None:
        unnamed = filter.with_term("class", Present(), negated=True)
        return str(unnamed.with_term("reason", death.reason))
    return str(filter.without("class").with_term("class", death.error_class))


def _over_time(moments: Sequence[datetime], first: datetime, last: datetime) -> list[float]:
    """Return how many moments fall into each of SPARK_POINTS equal stretches between first and last."""
    length = (last - first).total_seconds() or 1.0
    stretches = [int((moment - first).total_seconds() / length * SPARK_POINTS) for moment in moments]
    counts = Counter(min(stretch, SPARK_POINTS - 1) for stretch in stretches)
    return [float(counts[point]) for point in range(SPARK_POINTS)]
