"""Sparklines and bars as inline SVG without axes, each with a text alternative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from console.web import wording

SPARK_WIDTH, SPARK_HEIGHT = 120, 24
SPARK_MARGIN = 2  # room for the width of the line


def sparkline(values: Sequence[float | None], tone: str = "", words: str = "", least: float = 1) -> SafeString:
    """Draw a line from the oldest to the newest value, which is marked; None is a gap.

    The scale reaches at least to `least`.
    """
    known = [value for value in values if value is not None]
    if len(values) < 2 or not known:
        return format_html('<span class="quiet small">{}</span>', "no history yet")
    runs = _points(values, max(*known, least))
    newest = runs[-1][-1]
    gap = ", with gaps" if len(known) < len(values) else ""
    return format_html(
        '<svg class="spark" data-tone="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}'
        '<circle class="end" cx="{}" cy="{}" r="1.8"/></svg>',
        tone,
        SPARK_WIDTH,
        SPARK_HEIGHT,
        f"{words}: {wording.number(known[0])} at first, {wording.number(values[-1])} now, "
        f"{wording.number(max(known))} at most{gap}",
        format_html_join("", '<polygon class="area" points="{},{} {} {},{}"/>', map(_area, runs)),
        format_html_join("", '<polyline class="line" points="{}"/>', ((_line(run),) for run in runs)),
        f"{newest[0]:.1f}",
        f"{newest[1]:.1f}",
    )


def _points(values: Sequence[float | None], top: float) -> list[list[tuple[float, float]]]:
    """Return the runs of points between gaps."""
    ground = SPARK_HEIGHT - SPARK_MARGIN
    step = (SPARK_WIDTH - SPARK_MARGIN) / (len(values) - 1)
    runs: list[list[tuple[float, float]]] = [[]]
    for index, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append((index * step, ground - value / top * (ground - SPARK_MARGIN)))
    return [run for run in runs if run]


def _line(run: Sequence[tuple[float, float]]) -> str:
    """Return the points of a line. A single value becomes a short stroke, since a point has no length."""
    drawn = [*run, (run[0][0] + 0.1, run[0][1])] if len(run) == 1 else run
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)


def _area(run: Sequence[tuple[float, float]]) -> tuple[str, int, str, str, int]:
    ground = SPARK_HEIGHT - SPARK_MARGIN
    return f"{run[0][0]:.1f}", ground, _line(run), f"{run[-1][0]:.1f}", ground


def share_bar(part: float, whole: float, tone: str = "") -> SafeString:
    """Draw a bar that is filled by part of whole. The numbers stand beside it."""
    width = min(max(part / whole, 0.0), 1.0) * 100 if whole else 0.0
    return format_html(
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="10"/>'
        '<rect class="fill" data-tone="{}" width="{}" height="10"/></svg>',
        tone,
        f"{width:.2f}",
    )


@dataclass(frozen=True)
class Part:
    """One segment of a state bar; `tone` names its colour."""

    label: str
    count: int
    tone: str
    url: str = ""


def state_bar(parts: Sequence[Part]) -> SafeString:
    """Draw the shares of states in a whole. A state with any messages is visible."""
    total = sum(part.count for part in parts)
    words = ", ".join(f"{wording.number(part.count)} {part.label}" for part in parts)
    return format_html(
        '<svg viewBox="0 0 1000 12" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="track" width="1000" height="12"/>{}</svg>',
        words,
        format_html_join("", '<rect class="tone-{}" x="{}" width="{}" height="12"/>', _stretches(parts, total)),
    )


def _stretches(parts: Sequence[Part], total: int) -> list[tuple[str, str, str]]:
    sliver, gap = 8.0, 2.0
    shown = [part for part in parts if part.count]
    room = 1000 - (sliver + gap) * len(shown)
    stretches, x = [], 0.0
    for part in shown:
        width = sliver + room * part.count / total
        stretches.append((part.tone, f"{x:.1f}", f"{width:.1f}"))
        x += width + gap
    return stretches
