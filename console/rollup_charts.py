"""The charts of weeks and months: whole days, from what the archive's rollups have counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from console import charts, wording
from console.charts import Chart, Mark, Series
from console.ranges import DAY_SECONDS, Range
from console.time_axis import TimeAxis
from pipeline.marts.rollups import RANK_ERROR
from pipeline.rollups.past import Stretch, stretches

TONES = (("p50", "ready"), ("p95", "leased"), ("p99", "dead"))


@dataclass(frozen=True)
class Days:
    """What was rolled up over a range; stands where `history_charts.Past` does for a page."""

    stretches: Sequence[Stretch]
    axis: TimeAxis
    marks: Sequence[Mark]
    gap = timedelta()

    @property
    def begins(self) -> datetime | None:
        """The first day that is known; None where that is the first of all, or there is none."""
        first = next((one.at for one in self.stretches if one.counts is not None), None)
        return first if first and first > self.stretches[0].at else None

    @property
    def nothing(self) -> bool:
        """Nothing was rolled up of this time."""
        return all(one.counts is None for one in self.stretches)

    def draw(
        self, title: str, lines: Sequence[Series], subtitle: str, say: Callable[[float | None], str] = wording.number
    ) -> Chart:
        times = [one.at for one in self.stretches]
        return charts.draw(title, times, lines, subtitle=subtitle, say=say, axis=self.axis, marks=self.marks)

    def counted(self, name: str) -> list[float | None]:
        return [one.counts[name] if one.counts else None for one in self.stretches]

    def quantile(self, name: str) -> list[float | None]:
        return [None if (ms := one.quantiles_ms[name]) is None else ms / 1000 for one in self.stretches]


def read(scope: int, shown: Range, marks: Sequence[Mark] = ()) -> Days:
    """What was rolled up of a queue, or of what stands for several."""
    found = stretches(scope, shown.start, shown.end, shown.step_seconds // DAY_SECONDS)
    step = timedelta(seconds=shown.step_seconds)
    return Days(found, TimeAxis(found[0].at, found[-1].at, step), marks)


def of_work(days: Days) -> list[Chart]:
    """What there is to see of queues that are worked on; none where nothing was rolled up."""
    return [] if days.nothing else [_flow(days), _failures(days), *_times(days)]


def _flow(days: Days) -> Chart:
    lines = [
        Series("sent", "ready", days.counted("sent")),
        Series("acknowledged", "scheduled", days.counted("acked")),
        Series("deliveries", "leased", days.counted("delivered")),
    ]
    return days.draw("Messages", lines, f"in each {_each(days)}, of those that have ended")


def _failures(days: Days) -> Chart:
    lines = [
        Series("tried again", "leased", days.counted("retried")),
        Series("died", "dead", days.counted("dead_lettered")),
        Series("purged", "waiting", days.counted("purged")),
        Series("expired", "scheduled", days.counted("expired")),
    ]
    return days.draw("Failures", lines, f"in each {_each(days)}")


def _times(days: Days) -> list[Chart]:
    how = f"ranks within ±{RANK_ERROR:.1%}".replace(".0%", "%")
    of = "" if _each(days) == "day" else "; the highest day of each week"
    return [
        days.draw(title, _shares(days, what), f"{words}; {how}{of}", wording.span)
        for title, what, words in (
            ("Wait until received", "wait", "from sending to the first delivery, which succeeded"),
            ("Work until acknowledged", "work", "of what was acknowledged"),
        )
    ]


def _shares(days: Days, what: str) -> list[Series]:
    return [Series(label, tone, days.quantile(f"{what}_{label}_ms")) for label, tone in TONES]


def _each(days: Days) -> str:
    return "day" if days.axis.step <= timedelta(days=1) else "week"
