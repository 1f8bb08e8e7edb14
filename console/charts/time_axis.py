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

    @property
    def form(self) -> str:
        """The form in which `times.js` writes moments in local time; empty for steps of days, which are days in UTC."""
        if self.step >= DAY:
            return ""
        if self.end - self.start > DAY:
            return "moment"
        return "minute" if self.step >= MINUTE else "second"

    @property
    def label_form(self) -> str:
        """The form of the labels: days only if the range is so long that no two labels fall on the same day."""
        length = self.end - self.start
        return "day" if length >= MARKS * DAY else "moment" if length > DAY else "minute"

    def words(self, when: datetime) -> str:
        """Format one moment for the pointer."""
        return _write(when, self.form or "moment")

    @property
    def labels(self) -> Sequence[str]:
        """Return evenly spaced labels from the beginning to the end."""
        length = self.end - self.start
        return [_write(self.start + length * mark / MARKS, self.label_form) for mark in range(MARKS + 1)]

    def position(self, when: datetime) -> float | None:
        """Return the position of a moment on the axis, from 0 to 1; None outside the range."""
        length = self.end - self.start
        share = (when - self.start) / length if length else -1.0
        return share if 0 <= share <= 1 else None


def _write(when: datetime, form: str) -> str:
    moment = when.astimezone(UTC)
    if form == "second":
        return f"{moment:%H:%M:%S}"
    day, minute = f"{moment:%b} {moment.day}", f"{moment:%H:%M}"
    return {"day": day, "minute": minute}.get(form, f"{day} {minute}")
