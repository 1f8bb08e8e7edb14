"""The words of an axis of time: moments in UTC, as fine as the stretch they label needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MARKS = 4  # stretches between labels; there is a label at either end
DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class TimeAxis:
    """A stretch of time that a chart shows, in steps."""

    start: datetime
    end: datetime
    step: timedelta

    def words(self, when: datetime) -> str:
        """One moment, as a value that is pointed at says it."""
        moment = when.astimezone(UTC)
        if self.end - self.start > DAY:
            return f"{moment:%b} {moment.day} {moment:%H:%M}"
        return f"{moment:%H:%M}" if self.step >= MINUTE else f"{moment:%H:%M:%S}"

    @property
    def labels(self) -> Sequence[str]:
        """Evenly spaced, from the beginning to the end."""
        length = self.end - self.start
        return [self._label(self.start + length * mark / MARKS) for mark in range(MARKS + 1)]

    def position(self, when: datetime) -> float | None:
        """Return where a moment lies, from 0 to 1; None outside."""
        length = self.end - self.start
        share = (when - self.start) / length if length else -1.0
        return share if 0 <= share <= 1 else None

    def _label(self, when: datetime) -> str:
        moment = when.astimezone(UTC)
        if self.end - self.start >= MARKS * DAY:  # below it two labels would be of one day
            return f"{moment:%b} {moment.day}"
        return self.words(moment) if self.end - self.start > DAY else f"{moment:%H:%M}"
