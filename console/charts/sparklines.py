"""Sparklines and bars as inline SVG without axes, each with a text alternative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from console.web import wording

SPARK_WIDTH, SPARK_HEIGHT = 120, 24
SPARK_MARGIN = 2  # room for the width of the line


def sparkline(values: Sequence[float], tone: str = "", words: str = "", least: float = 1) -> SafeString:
    """Draw a line from the oldest to the newest value, which is marked. The scale reaches at least to `least`."""
    if len(values) < 2:
        return format_html('<span class="quiet small">{}</span>', "no history yet")
    ground = SPARK_HEIGHT - SPARK_MARGIN
    top = max(*values, least)
    step = (SPARK_WIDTH - SPARK_MARGIN) / (len(values) - 1)
    points = [(index * step, ground - value / top * (ground - SPARK_MARGIN)) for index, value in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return format_html(
        '<svg class="spark" data-tone="{tone}" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
        '<polygon class="area" points="0,{ground} {line} {x},{ground}"/><polyline class="line" points="{line}"/>'
        '<circle class="end" cx="{x}" cy="{y}" r="1.8"/></svg>',
        tone=tone,
        width=SPARK_WIDTH,
        height=SPARK_HEIGHT,
        ground=ground,
        line=line,
        label=f"{words}: {wording.number(values[0])} at first, {wording.number(values[-1])} now, "
        f"{wording.number(max(values))} at most",
        x=f"{points[-1][0]:.1f}",
        y=f"{points[-1][1]:.1f}",
    )


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
