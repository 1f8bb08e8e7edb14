"""The charts of one queue, one tenant or all queues over a stretch of the past."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from console import charts, wording
from console.charts import Chart, Mark, Series
from console.ranges import Range
from console.time_axis import TimeAxis
from queues.history_series import HistoryStep, series
from queues.percentiles import percentile

PERCENTILES = (("p50", 0.5, "ready"), ("p95", 0.95, "leased"), ("p99", 0.99, "dead"))
NOT_YET = 2  # steps at the end that may not be added up yet


@dataclass(frozen=True)
class Past:
    """What was recorded over a range, step by step, and how charts of it are drawn."""

    steps: Sequence[HistoryStep]
    axis: TimeAxis
    marks: Sequence[Mark]

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

    def highest(self, state: str) -> list[float | None]:
        return [step.highest[state] if step.highest else None for step in self.steps]

    def rates(self, event: str) -> list[float | None]:
        return [step.rates[event] if step.rates else None for step in self.steps]

    @property
    def begins(self) -> datetime | None:
        """The first moment that is known; None where that is all of it, or nothing."""
        first = next((step.at for step in self.steps if step.depths is not None), None)
        return first if first is not None and first > self.steps[0].at + self.axis.step else None

    @property
    def gap(self) -> timedelta:
        """For how long nothing was recorded between what was."""
        known = [step.depths is not None for step in self.steps]
        inner = known[known.index(True) :] if True in known else []
        return self.axis.step * sum(not one for one in inner)


def read(queue_id: int, shown: Range, marks: Sequence[Mark] = ()) -> Past:
    """What was recorded of a queue, or of what stands for several, over a range."""
    steps = series([queue_id], shown.start, shown.end, shown.step_seconds)[queue_id]
    for _ in range(NOT_YET):
        if shown.name and steps and steps[-1].rates is None:
            steps = steps[:-1]
    step = timedelta(seconds=shown.step_seconds)
    start, end = (steps[0].at, steps[-1].at) if steps else (shown.start, shown.end)
    return Past(steps, TimeAxis(start, end, step), marks)


def of_work(past: Past, alert_age_seconds: float | None = None) -> list[Chart]:
    """What there is to see of queues that are worked on."""
    return [_depth(past), _flow(past), _age(past, alert_age_seconds), *_times(past), _failures(past), _dead(past)]


def of_dead_letters(past: Past) -> list[Chart]:
    """What there is to see of a queue that keeps what died elsewhere."""
    return [_dead(past), _flow(past)]


def _depth(past: Past) -> Chart:
    waiting = past.highest("waiting")
    lines = [
        Series("ready", "ready", past.highest("ready"), filled=True),
        Series("in flight", "leased", past.highest("leased")),
        Series("scheduled", "scheduled", past.highest("scheduled")),
        *([Series("waiting in lanes", "waiting", waiting)] if any(waiting) else []),
    ]
    return past.draw("Messages", lines, f"the highest of each {_step(past)}")


def _flow(past: Past) -> Chart:
    lines = [
        Series("in", "ready", past.rates("added")),
        Series("out", "scheduled", past.rates("removed")),
        Series("delivered", "leased", past.rates("delivered")),
    ]
    return past.draw("In and out per second", lines, f"means of each {_step(past)}", wording.rate)


def _age(past: Past, alert_age_seconds: float | None) -> Chart:
    ages = [step.oldest_age_seconds for step in past.steps]
    allowed, threshold = "", None
    if alert_age_seconds is not None:
        allowed = f"; {wording.span(alert_age_seconds)} allowed"
        near = max((age for age in ages if age is not None), default=0.0) > alert_age_seconds / 4
        threshold = alert_age_seconds if near else None  # far below, the threshold would flatten the line
    lines = [Series("oldest ready", "ready", ages, filled=True)]
    return past.draw("Age of the oldest", lines, f"ready and not yet received{allowed}", wording.span, threshold)


def _times(past: Past) -> list[Chart]:
    waits = [step.waits for step in past.steps]
    work = [step.work for step in past.steps]
    return [
        past.draw("Wait until received", _shares(waits), "first deliveries, estimated from buckets", wording.span),
        past.draw("Work until acknowledged", _shares(work), "estimated from buckets", wording.span),
    ]


def _shares(counts: Sequence[Sequence[int]]) -> list[Series]:
    return [Series(label, tone, [percentile(one, share) for one in counts]) for label, share, tone in PERCENTILES]


def _failures(past: Past) -> Chart:
    lines = [
        Series("failed", "leased", past.rates("nacked")),
        Series("lease expired", "scheduled", past.rates("lease_expired")),
        Series("died", "dead", past.rates("dead_lettered")),
        Series("delivered again", "ready", past.rates("redelivered")),
    ]
    return past.draw("Failures per second", lines, f"means of each {_step(past)}", wording.rate)


def _dead(past: Past) -> Chart:
    lines = [Series("dead", "dead", past.highest("dead"), filled=True)]
    return past.draw("Dead letters", lines, f"the highest of each {_step(past)}")


def _step(past: Past) -> str:
    return wording.span(past.axis.step.total_seconds())
