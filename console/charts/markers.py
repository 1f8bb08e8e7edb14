"""Markers in charts: rooms register what happened while a chart's numbers moved, drawn as lines and listed under it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from console.charts.drawing import Mark
from queues.reach import EVERYTHING, Reach

MAX_MARKS = 12
"""Marks of one source that a chart shows: the newest."""

Source = Callable[[Sequence[str] | None, datetime, datetime, Reach], Iterable[Mark]]

_sources: list[Source] = []


def register(source: Source) -> None:
    """Ask `source` for the marks of queues (None: of any) between two moments, within a reach."""
    if source not in _sources:
        _sources.append(source)


def gather(names: Sequence[str] | None, start: datetime, end: datetime, reach: Reach = EVERYTHING) -> list[Mark]:
    """List what happened to these queues (None: to any), the oldest first, numbered."""
    marks = [mark for source in _sources for mark in source(names, start, end, reach)]
    return [replace(mark, number=place) for place, mark in enumerate(sorted(marks, key=lambda mark: mark.at), 1)]
