"""History charts of one queue, one tenant or all queues.

The database keeps two weeks of steps (`Past`). For weeks and months, the archive's rollups have whole days (`Days`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from console.charts import drawing as charts
from console.charts.drawing import Chart, Mark, Series
from console.charts.ranges import DAY_SECONDS, Range
from console.charts.time_axis import TimeAxis
from console.web import wording
from pipeline.rollups.aggregation import RANK_ERROR
from pipeline.rollups.past import Stretch, stretches
from queues.counters.durations import percentile
from queues.history.series import series

PERCENTILES = (("p50", 0.5, "p50"), ("p95", 0.95, "p95"), ("p99", 0.99, "p99"))
ESTIMATED = "estimated from buckets"
NOT_YET = 2  # steps at the end that may not be aggregated yet


@dataclass(frozen=True)
class Past:
    """The recorded steps of a range, and their charts."""

    steps: Sequence[Any]
    axis: TimeAxis
    marks: Sequence[Mark]
    late_steps = 1
    """The number of steps that may be missing at the start of a range that still counts as complete."""

    def draw(
        self,
        title: str,
        lines: Sequence[Series],
        subtitle: str,
        say: Callable[[float | None], str] = wording.number,
        threshold: float | None = None,
    ) -> Chart:
        times = [step.at for step in self.steps]
        return charts.draw(
            title, times, lines, subtitle=subtitle, say=say, threshold=threshold, axis=self.axis, marks=self.marks
        )

    @property
    def begins(self) -> datetime | None:
        """Return the first recorded moment; None if the range is complete or empty."""
        first = next((step.at for step, known in zip(self.steps, self.known, strict=True) if known), None)
        return first if first is not None and first > self.steps[0].at + self.axis.step * self.late_steps else None

    @property
    def known(self) -> list[bool]:
        """Return for each step whether it was recorded."""
        return [step.depths is not None for step in self.steps]

    @property
    def gap(self) -> timedelta:
        """Return the total time without recorded steps between recorded ones."""
        known = self.known
        inner = known[known.index(True) :] if True in known else []
        return self.axis.step * sum(not one for one in inner)

    @property
    def step_words(self) -> str:
        return wording.span(self.axis.step.total_seconds())

    def of_work(self, alert_age_seconds: float | None = None) -> list[Chart]:
        """Draw the charts of queues that have workers."""
        failures = lines(
            self._rates,
            ("failed", "failed", "nacked"),
            ("lease expired", "expired", "lease_expired"),
            ("dead-lettered", "dead", "dead_lettered"),
            ("redelivered", "redelivered", "redelivered"),
        )
        return [
            self.draw("Messages", depths(self._highest), f"maximum per {self.step_words}"),
            self._flow(),
            self._age(alert_age_seconds),
            self.draw("Queue latency", self._shares("waits"), f"first deliveries, {ESTIMATED}", wording.span),
            self.draw("Processing time", self._shares("work"), ESTIMATED, wording.span),
            self.draw("Failures per second", failures, f"average per {self.step_words}", wording.rate),
            self._dead(),
        ]

    def of_dead_letters(self) -> list[Chart]:
        """Draw the charts of a queue that keeps dead letters."""
        return [self._dead(), self._flow()]

    def _flow(self) -> Chart:
        flow = lines(
            self._rates,
            ("in", "sent", "added"),
            ("out", "completed", "removed"),
            ("delivered", "delivered", "delivered"),
        )
        return self.draw("Sent and completed per second", flow, f"average per {self.step_words}", wording.rate)

    def _age(self, alert_age_seconds: float | None) -> Chart:
        ages = [step.oldest_age_seconds for step in self.steps]
        words, threshold = "ready messages", None
        if alert_age_seconds is not None:
            words += f"; {wording.span(alert_age_seconds)} allowed"
            threshold = threshold_near(ages, alert_age_seconds)
        oldest = [Series("oldest ready", "ready", ages, filled=True)]
        return self.draw("Oldest ready message", oldest, words, wording.span, threshold)

    def _shares(self, name: str) -> list[Series]:
        counts = [getattr(step, name) for step in self.steps]
        return [Series(label, tone, [percentile(one, share) for one in counts]) for label, share, tone in PERCENTILES]

    def _dead(self) -> Chart:
        dead = [Series("dead", "dead", self._highest("dead"), filled=True)]
        return self.draw("Dead letters", dead, f"maximum per {self.step_words}")

    def _highest(self, state: str) -> list[float | None]:
        return [step.highest[state] if step.highest else None for step in self.steps]

    def _rates(self, event: str) -> list[float | None]:
        return [step.rates[event] if step.rates else None for step in self.steps]


class Days(Past):
    """The daily rollups of a range, for ranges beyond what the database keeps."""

    steps: Sequence[Stretch]
    gap = timedelta()
    late_steps = 0

    @property
    def nothing(self) -> bool:
        """Return whether no rollup exists for the range."""
        return not any(self.known)

    @property
    def known(self) -> list[bool]:
        return [step.counts is not None for step in self.steps]

    @property
    def step_words(self) -> str:
        return "day" if self.axis.step <= timedelta(days=1) else "week"

    def of_work(self, alert_age_seconds: float | None = None) -> list[Chart]:
        """Draw the charts of any queue; none without a rollup."""
        if self.nothing:
            return []
        flow = lines(
            self._counted,
            ("sent", "sent", "sent"),
            ("completed", "completed", "acked"),
            ("deliveries", "delivered", "delivered"),
        )
        failures = lines(
            self._counted,
            ("retried", "failed", "retried"),
            ("dead-lettered", "dead", "dead_lettered"),
            ("purged", "removed", "purged"),
            ("expired", "expired", "expired"),
        )
        each = f"in each {self.step_words}"
        waited, how = "from sending to a first delivery that succeeded", f"ranks within ±{RANK_ERROR:.1%}"
        how = how.replace(".0%", "%") + ("" if self.step_words == "day" else "; the highest day of each week")
        return [
            self.draw("Messages", flow, f"{each}, of those that have ended"),
            self.draw("Failures", failures, each),
            self.draw("Queue latency", self._shares("wait"), f"{waited}; {how}", wording.span),
            self.draw("Processing time", self._shares("work"), f"of completed messages; {how}", wording.span),
        ]

    of_dead_letters = of_work

    def _shares(self, name: str) -> list[Series]:
        return [
            Series(
                label,
                tone,
                [None if (ms := one.quantiles_ms[f"{name}_{label}_ms"]) is None else ms / 1000 for one in self.steps],
            )
            for label, _, tone in PERCENTILES
        ]

    def _counted(self, name: str) -> list[float | None]:
        return [one.counts[name] if one.counts else None for one in self.steps]


def read(queue_id: int, shown: Range, marks: Sequence[Mark] = ()) -> Past:
    """Read the history of a queue, or the sum of several, over a range."""
    step = timedelta(seconds=shown.step_seconds)
    if shown.of_days:
        days = stretches(queue_id, shown.start, shown.end, shown.step_seconds // DAY_SECONDS)
        return Days(days, TimeAxis(days[0].at, days[-1].at, step), marks)
    steps = series([queue_id], shown.start, shown.end, shown.step_seconds)[queue_id]
    for _ in range(NOT_YET):
        if shown.name and steps and steps[-1].rates is None:
            steps = steps[:-1]
    start, end = (steps[0].at, steps[-1].at) if steps else (shown.start, shown.end)
    return Past(steps, TimeAxis(start, end, step), marks)


def lines(values: Callable[[str], Sequence[float | None]], *named: tuple[str, str, str]) -> list[Series]:
    """Make a line for each (label, tone, name of its values)."""
    return [Series(label, tone, values(name)) for label, tone, name in named]


def depths(values: Callable[[str], Sequence[float | None]]) -> list[Series]:
    """Make lines of a queue's messages by state; waiting only if any waited."""
    waiting = lines(values, ("waiting for their group", "waiting", "waiting"))
    return [
        Series("ready", "ready", values("ready"), filled=True),
        *lines(values, ("in flight", "leased", "leased"), ("scheduled", "scheduled", "scheduled")),
        *(waiting if any(waiting[0].values) else []),
    ]


def threshold_near(values: Sequence[float | None], allowed: float) -> float | None:
    """Return the threshold, or None if all values are far below it, where it would flatten the line."""
    return allowed if max((value for value in values if value is not None), default=0.0) > allowed / 4 else None
