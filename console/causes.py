"""What the newest dead letters died of: their error classes, with an example, the sources and the course of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from dlq.filters import Filter, Present
from dlq.finding import Order, Query, find
from dlq.time_limits import LIST_MILLISECONDS, OutOfTime, time_limit

NEWEST = 1_000  # looked at, however many there are
MOST_CAUSES = 12
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
    """The dead-letter queues that keep them."""
    first_at: datetime
    last_at: datetime
    redriven: int
    deaths: Sequence[float]
    narrowed: str
    """The filter that shows these alone."""

    @property
    def words(self) -> str:
        """The class, or what stands for it where there is none."""
        unnamed = {"lock_expired": "Timed out", "rejected": "Rejected"}
        return self.error_class or unnamed.get(self.reason, "Failed without a class")


@dataclass(frozen=True)
class Causes:
    """The causes, commonest first; `looked_at` says among how many, `more` whether there are others.

    `in_time` is false when the database needed too long to look.
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


def read(chosen: Filter) -> Causes:
    """What the newest NEWEST dead letters that `chosen` selects died of. One query."""
    try:
        with time_limit(LIST_MILLISECONDS):
            deaths = _deaths(chosen)
    except OutOfTime:
        return Causes(in_time=False)
    newest = deaths[:NEWEST]
    groups: dict[tuple[str | None, str], list[_Death]] = {}
    for death in newest:
        key = (death.error_class, "" if death.error_class else death.reason)
        groups.setdefault(key, []).append(death)
    ranked = sorted(groups.values(), key=len, reverse=True)[:MOST_CAUSES]
    moments = [death.died_at for death in newest]
    causes = [_cause(group, min(moments), max(moments), chosen) for group in ranked]
    return Causes(causes, len(newest), more=len(deaths) > NEWEST)


def _deaths(chosen: Filter) -> list[_Death]:
    ids = find(chosen, datetime.now(UTC)).ids(NEWEST + 1, Order.NEWEST_FIRST)
    rows = Query(
        "select d.error_class, d.reason, left(d.error, 300), d.source_queue,"  # noqa: S608
        " coalesce(q.name, d.source_queue), d.died_at, d.redrive_count"
        f" from ({ids.sql}) found join signalbox.dead_letter d using (dead_letter_id)"
        " left join signalbox.queue q on q.queue_id = d.queue_id"
        " order by d.dead_letter_id desc",
        ids.params,
    ).rows()
    return [_Death(*row) for row in rows]


def _cause(group: list[_Death], first: datetime, last: datetime, chosen: Filter) -> Cause:
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
        narrowed=_narrowed(chosen, newest),
    )


def _narrowed(chosen: Filter, death: _Death) -> str:
    """`chosen`, asking for this cause only."""
    if death.error_class is None:
        unnamed = chosen.with_term("class", Present(), negated=True)
        return str(unnamed.with_term("reason", death.reason))
    return str(chosen.without("class").with_term("class", death.error_class))


def _over_time(moments: Sequence[datetime], first: datetime, last: datetime) -> list[float]:
    """How many moments fall into each of SPARK_POINTS equal stretches between first and last."""
    length = (last - first).total_seconds() or 1.0
    counts = [0.0] * SPARK_POINTS
    for moment in moments:
        stretch = int((moment - first).total_seconds() / length * SPARK_POINTS)
        counts[min(stretch, SPARK_POINTS - 1)] += 1
    return counts
