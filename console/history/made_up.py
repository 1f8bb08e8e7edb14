"""The end of a history that the demo made up: a mark in charts, and a notice on the pages of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.urls import reverse
from django.utils.http import urlencode

from console.charts.drawing import Mark
from console.charts.ranges import Range
from queues.history import invented
from queues.reach import Reach

WORDS = "End of the made-up history"


def marks(names: Sequence[str] | None, start: datetime, end: datetime, _: Reach) -> list[Mark]:
    """Return the mark at the end of the made-up history, if the chart shows that moment."""
    until = invented.end_of_invention()
    if until is None or not start <= until <= end:
        return []
    url = f"{reverse('audit')}?{urlencode({'q': f'action:{invented.ACTION}'})}"
    return [Mark(at=until, number=0, words=WORDS, tone="warn", url=url)]


def until(shown: Range, marks: Sequence[Mark]) -> datetime | None:
    """Return the end of the made-up history if the range begins before it. No query if the marks contain it."""
    if found := next((mark.at for mark in marks if mark.words == WORDS), None):
        return found
    end = None if shown.name else invented.end_of_invention()  # a range with a name ends now
    return end if end is not None and shown.start < end else None
