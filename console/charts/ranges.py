"""The time range that a page shows: a preset, or two moments. The address contains it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from django.http import HttpRequest

from queues.history.series import coarseness

# Name in the address -> (seconds back, seconds in a step, words).
RANGES = {
    "15m": (900, 10, "15 minutes"),
    "1h": (3_600, 60, "hour"),
    "6h": (21_600, 300, "6 hours"),
    "24h": (86_400, 900, "24 hours"),
    "7d": (604_800, 7_200, "7 days"),
    "14d": (1_209_600, 14_400, "14 days"),
    "30d": (30 * 86_400, 86_400, "30 days"),
    "90d": (90 * 86_400, 86_400, "90 days"),
    "1y": (364 * 86_400, 7 * 86_400, "year"),
}
USUAL = "1h"
KEPT = timedelta(days=14)
ARCHIVED = timedelta(days=366)
"""The longest range of a chart of whole days, which come from the archive."""
DAY_SECONDS = 86_400
STEPS_SECONDS = (10, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400)
MAX_STEPS = 96  # more points make a page heavier and no chart clearer
_TYPED = "%Y-%m-%d %H:%M"
_LINKED = "%Y-%m-%dT%H:%M"  # without a space


@dataclass(frozen=True)
class Range:
    """A time range; `name` is empty if its ends were given."""

    name: str
    start: datetime
    end: datetime
    step_seconds: int
    mistake: str = ""
    """A sentence that says why the page shows another range than the address asks for."""
    archived: bool = True
    """Whether the archive has the charts' data too, so that the range may begin before the database's data."""

    @property
    def of_days(self) -> bool:
        """Return whether the range exceeds what the database keeps, so that it uses the archive's rollups of whole
        days.
        """
        return self.step_seconds >= DAY_SECONDS

    @property
    def words(self) -> str:
        if self.name:
            return f"the last {RANGES[self.name][2]}"
        return f"{self.start:%Y-%m-%d %H:%M} to {self.end:%Y-%m-%d %H:%M} UTC"

    @property
    def typed_start(self) -> str:
        return self.start.strftime(_TYPED)

    @property
    def typed_end(self) -> str:
        return self.end.strftime(_TYPED)

    @property
    def query(self) -> str:
        """Return the query string of this range, so that another page shows the same."""
        return urlencode({"range": self.name} if self.name else self._linked)

    @property
    def _linked(self) -> dict[str, str]:
        return {"from": self.start.strftime(_LINKED), "to": self.end.strftime(_LINKED)}

    @property
    def choices(self) -> Sequence[tuple[str, bool]]:
        longest = (ARCHIVED if self.archived else KEPT).total_seconds()
        return [(name, name == self.name) for name, (seconds, *_) in RANGES.items() if seconds <= longest]

    @property
    def live_seconds(self) -> int:
        """Return the refresh interval of a page with this range."""
        return max(10, self.step_seconds // 4) if self.name else 3_600


def of_request(request: HttpRequest, *, archived: bool = True) -> Range:
    """Return the range in the address: `range`, or `from` and `to` in UTC, with an error if it is invalid.

    Ranges that are not `archived` are cut to what the database keeps.
    """
    now = datetime.now(UTC)
    asked, start, end = (request.GET.get(name, "") for name in ("range", "from", "to"))
    if start or end:
        shown = _given(start, end, now)
    elif asked and asked not in RANGES:
        shown = _last(USUAL, now, f"There is no range {asked[:20]}. The charts show the last hour.")
    else:
        shown = _last(asked or USUAL, now)
    if not archived and shown.of_days:
        shown = _last("14d", now, "This history is kept for 14 days. The charts show the last 14 days.")
    return replace(shown, archived=archived)


def _last(name: str, now: datetime, mistake: str = "") -> Range:
    seconds, step, _ = RANGES[name]
    return Range(name, now - timedelta(seconds=seconds), now, step, mistake)


def _given(start_text: str, end_text: str, now: datetime) -> Range:
    start, end = _read(start_text), _read(end_text) if end_text else now
    if start is None or end is None:
        return _last(
            USUAL, now, "From and To are times in UTC, such as 2026-01-31 14:30. The charts show the last hour."
        )
    end = min(end, now)
    if start >= end:
        return _last(USUAL, now, "From must be before To, and not in the future. The charts show the last hour.")
    if start >= now - KEPT - timedelta(minutes=1):
        start = max(start, now - KEPT)
        return Range("", start, end, _step(start, end, now))
    oldest = now - ARCHIVED
    mistake = "" if start >= oldest - timedelta(minutes=1) else "History goes back one year, if it was archived."
    if end <= oldest:
        return _last("1y", now, mistake)
    start = max(start, oldest)
    days = 7 if end - start > MAX_STEPS * timedelta(days=1) else 1
    return Range("", start, end, days * DAY_SECONDS, mistake)


def _step(start: datetime, end: datetime, now: datetime) -> int:
    """Return the finest step that is kept for the whole range and gives at most MAX_STEPS points."""
    least = max(coarseness(start, now), (end - start).total_seconds() / MAX_STEPS)
    return next(step for step in STEPS_SECONDS if step >= least)


def _read(text: str) -> datetime | None:
    for form in (_TYPED, f"{_TYPED}:%S"):
        try:
            return datetime.strptime(text.replace("T", " "), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
