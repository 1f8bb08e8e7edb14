"""Labels of a time axis in UTC, as fine as its range needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MARKS = 4  # intervals between labels
DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class TimeAxis:
    """A time range of a chart, in steps."""

    start: datetime
    end: datetime
    step: timedelta

    def words(self, when: datetime) -> str:
        """Format one moment for the pointer."""
        moment = when.astimezone(UTC)
        if self.end - self.start > DAY:
            return f"{moment:%b} {moment.day} {moment:%H:%M}"
        return f"{moment:%H:%M}" if self.step >= MINUTE else f"{moment:%H:%M:%S}"

    @property
    def labels(self) -> Sequence[str]:
        """Return evenly spaced labels from the beginning to the end."""
        length = self.end - self.start
        return [self._label(self.start + length * mark / MARKS) for mark in range(MARKS + 1)]

    def position(self, when: datetime) -> float | None:
        """Return the place of a moment from 0 to 1; None outside."""
        length = self.end - self.start
        share = (when - self.start) / length if length else -1.0
        return share if 0 <= share <= 1 else None

    def _label(self, when: datetime) -> str:
        moment = when.astimezone(UTC)
        if self.end - self.start >= MARKS * DAY:  # in a shorter range, two labels would show one day
            return f"{moment:%b} {moment.day}"
        return self.words(moment) if self.end - self.start > DAY else f"{moment:%H:%M}"
