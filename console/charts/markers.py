"""Markers in charts: events that rooms register, drawn as lines and listed below the chart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from console.charts.drawing import Mark
from queues.reach import EVERYTHING, Reach

MAX_MARKS = 12
"""The number of marks of one source that a chart shows, the newest."""

Source = Callable[[Sequence[str] | None, datetime, datetime, Reach], Iterable[Mark]]

_sources: list[Source] = []


def register(source: Source) -> None:
    """Register a source of marks; it gets queues (None: any), two moments and a reach."""
    if source not in _sources:
        _sources.append(source)


def gather(names: Sequence[str] | None, start: datetime, end: datetime, reach: Reach = EVERYTHING) -> list[Mark]:
    """Return the marks of these queues (None: of any), oldest first, numbered."""
    marks = [mark for source in _sources for mark in source(names, start, end, reach)]
    return [replace(mark, number=place) for place, mark in enumerate(sorted(marks, key=lambda mark: mark.at), 1)]
