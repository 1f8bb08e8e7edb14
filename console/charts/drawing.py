"""Time series as inline SVG, drawn on the server with attributes and classes, without styles.

Each chart has a text alternative and a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import NamedTuple

from console.charts.time_axis import TimeAxis
from console.web import wording

PLOT_WIDTH, PLOT_HEIGHT = 600, 100  # stretched to its box; lines keep their width, and text stays outside the SVG
LABEL_WIDTH = 18  # of the number of a mark, in a narrow chart
SECONDS_STEPS = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400, 172_800, 604_800)

Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """One line of a chart; None marks a moment without a value."""

    label: str
    tone: str
    values: Sequence[float | None]
    filled: bool = False


@dataclass(frozen=True)
class Stroke:
    """A series as SVG paths."""

    label: str
    tone: str
    line: str
    area: str
    latest: str


class Hit(NamedTuple):
    """The area of the chart that belongs to one moment, and its text for the pointer."""

    x: int
    width: int
    words: str


@dataclass(frozen=True)
class Mark:
    """An event at one moment. Its number stands above its line in the chart; the page lists it below, with a link."""

    at: datetime
    number: int
    words: str
    tone: str
    url: str = ""


@dataclass(frozen=True)
class Chart:
    """A drawn time series, shown by `components/_chart.html`. The values under the pointer replace `subtitle`."""

    title: str
    subtitle: str
    summary: str
    strokes: Sequence[Stroke]
    hits: Sequence[Hit]
    y_labels: Sequence[str]  # from top to bottom
    times: Sequence[datetime]
    threshold_y: float | None
    rows: Sequence[tuple[datetime | str, Sequence[str]]]  # the newest first
    x_labels: Sequence[str] = ()  # from the oldest to the newest; empty where the last point is now
    marks: Sequence[tuple[float, Mark]] = ()  # each with its horizontal position
    form: str = ""  # the `form` of the axis, for moments in local time; empty if they stay in UTC
    label_form: str = ""

    @property
    def mark_labels(self) -> list[tuple[float, str, str, str]]:
        """Return the labels of the marks: position, text, words and tone. Marks that stand together share one."""
        labels: list[tuple[float, str, str, str]] = []
        for marks in _close_together(self.marks):
            (left, first), (right, last) = marks[0], marks[-1]
            numbers = str(first.number) if first is last else f"{first.number}-{last.number}"
            tone = next((mark.tone for _, mark in marks if mark.tone), "")
            labels.append(((left + right) / 2, numbers, "; ".join(mark.words for _, mark in marks), tone))
        return labels

    @property
    def ends(self) -> tuple[int, int]:
        """Return the first and the last moment of the chart in milliseconds since 1970, for scripts."""
        return round(self.times[0].timestamp() * 1_000), round(self.times[-1].timestamp() * 1_000)

    @property
    def empty(self) -> bool:
        return len(self.times) < 2

    @property
    def reach(self) -> str:
        """Return the length of the chart's time span, in whole minutes."""
        seconds = (self.times[-1] - self.times[0]).total_seconds()
        return wording.span(max(round(seconds / wording.MINUTE), 1) * wording.MINUTE)


def draw(
    title: str,
    times: Sequence[datetime],
    series: Sequence[Series],
    *,
    subtitle: str = "",
    say: Callable[[float | None], str] = wording.number,
    threshold: float | None = None,
    axis: TimeAxis | None = None,
    marks: Sequence[Mark] = (),
) -> Chart:
    """Draw `series` over evenly spaced `times`; `say` formats a value.

    With an `axis` the chart labels moments in UTC, otherwise by their age.
    """
    known = [value for one in series for value in one.values if value is not None]
    top = _ceiling(max([*known, threshold or 0.0]), say)
    words = [[say(one.values[index]) for one in series] for index in range(len(times))]
    return Chart(
        title=title,
        subtitle=subtitle,
        summary=_summary(title, series, say),
        strokes=[_stroke(one, top, say) for one in series],
        hits=_hits(times, series, words, axis),
        y_labels=[_tick(value, say) for value in (top, top / 2, 0.0)],
        times=times,
        threshold_y=None if threshold is None else _y(threshold, top),
        rows=[
            (axis.words(at) if axis else at, said) for at, said in zip(reversed(times), reversed(words), strict=True)
        ],
        x_labels=axis.labels if axis else (),
        form=axis.form if axis else "second",
        label_form=axis.label_form if axis else "",
        marks=[
            (round(x * PLOT_WIDTH, 1), mark) for mark in marks if axis and (x := axis.position(mark.at)) is not None
        ],
    )


def _close_together(marks: Sequence[tuple[float, Mark]]) -> list[list[tuple[float, Mark]]]:
    """Group marks, which are in the order of time, whose labels would overlap."""
    groups: list[list[tuple[float, Mark]]] = []
    for x, mark in marks:
        if groups and x - groups[-1][-1][0] < LABEL_WIDTH:
            groups[-1].append((x, mark))
        else:
            groups.append([(x, mark)])
    return groups


def _stroke(series: Series, top: float, say: Callable[[float | None], str]) -> Stroke:
    runs = _runs(series.values, top)
    paths = ["L".join(f"{x:.0f} {y:.1f}" for x, y in run) for run in runs]
    # A single point becomes a dot as wide as the line.
    line = " ".join(f"M{path}{'h.1' if len(run) == 1 else ''}" for path, run in zip(paths, runs, strict=True))
    areas = [
        f"M{run[0][0]:.0f} {PLOT_HEIGHT}L{path}L{run[-1][0]:.0f} {PLOT_HEIGHT}Z"
        for path, run in zip(paths, runs, strict=True)
        if series.filled
    ]
    return Stroke(series.label, series.tone, line, " ".join(areas), say(series.values[-1]) if series.values else "")


def _runs(values: Sequence[float | None], top: float) -> list[list[Point]]:
    """Return the runs of points without a gap."""
    runs: list[list[Point]] = [[]]
    for index, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append((_x(index, len(values)), _y(value, top)))
    return [run for run in runs if run]


def _x(index: int, count: int) -> float:
    return index * PLOT_WIDTH / max(count - 1, 1)


def _y(value: float, top: float) -> float:
    return PLOT_HEIGHT - value / top * PLOT_HEIGHT


def _hits(
    times: Sequence[datetime], series: Sequence[Series], words: list[list[str]], axis: TimeAxis | None
) -> list[Hit]:
    width = PLOT_WIDTH / max(len(times) - 1, 1)
    when = axis.words if axis else lambda moment: f"{moment.astimezone(UTC):%H:%M:%S}"
    return [
        Hit(
            x=round(_x(index, len(times)) - width / 2),
            width=ceil(width),
            words=f"{when(moment)} UTC · "
            + " · ".join(f"{one.label} {said}" for one, said in zip(series, words[index], strict=True)),
        )
        for index, moment in enumerate(times)
    ]


def _tick(value: float, say: Callable[[float | None], str]) -> str:
    """Format a label of the axis; zero and whole rates need no decimals."""
    return wording.number(value) if value == 0 or (say is wording.rate and value == int(value)) else say(value)


def _summary(title: str, series: Sequence[Series], say: Callable[[float | None], str]) -> str:
    said = []
    for one in series:
        known = [value for value in one.values if value is not None]
        if known:
            said.append(f"{one.label} {say(one.values[-1])} now, {say(min(known))} to {say(max(known))}")
    return f"{title}: " + ("; ".join(said) or "nothing recorded")


def _ceiling(highest: float, say: Callable[[float | None], str]) -> float:
    """Return the round number at or above `highest` that ends the axis. Its half is round as well."""
    if say is wording.span:
        return next((float(step) for step in SECONDS_STEPS if step >= highest), highest)
    if highest <= 10:
        return next(float(step) for step in (2, 4, 6, 8, 10) if step >= highest)
    magnitude = 1.0
    while magnitude * 10 <= highest:
        magnitude *= 10
    return next(step * magnitude for step in (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10) if step * magnitude >= highest)
