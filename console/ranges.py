"""Which stretch of the past a page shows: picked from a few, or from one moment to another. The address has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from django.http import HttpRequest

from queues.history_series import coarseness

# What the address says -> (seconds back, seconds in a step).
RANGES = {
    "15m": (900, 10),
    "1h": (3_600, 60),
    "6h": (21_600, 300),
    "24h": (86_400, 900),
    "7d": (604_800, 7_200),
    "14d": (1_209_600, 14_400),
    "30d": (30 * 86_400, 86_400),
    "90d": (90 * 86_400, 86_400),
    "1y": (364 * 86_400, 7 * 86_400),
}
RANGE_WORDS = {
    "15m": "15 minutes",
    "1h": "hour",
    "6h": "6 hours",
    "24h": "24 hours",
    "7d": "7 days",
    "14d": "14 days",
    "30d": "30 days",
    "90d": "90 days",
    "1y": "year",
}
USUAL = "1h"
KEPT = timedelta(days=14)
ARCHIVED = timedelta(days=366)
"""How far back whole days are drawn, where an archive has them."""
DAY_SECONDS = 86_400
STEPS_SECONDS = (10, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400)
MOST_STEPS = 96  # more make a page heavy and no chart clearer
_TYPED = "%Y-%m-%dT%H:%M"  # what a field of date and time sends


@dataclass(frozen=True)
class Range:
    """A stretch of the past; `name` is empty where it was given by its ends."""

    name: str
    start: datetime
    end: datetime
    step_seconds: int
    mistake: str = ""
    """Why what the address asked for is not what is shown."""
    archived: bool = True
    """Whether what is shown is in the archive too, so that it may go back further than the database does."""

    @property
    def of_days(self) -> bool:
        """Longer than the database keeps: whole days, from the archive's rollups."""
        return self.step_seconds >= DAY_SECONDS

    @property
    def words(self) -> str:
        if self.name:
            return f"the last {RANGE_WORDS[self.name]}"
        return f"{_said(self.start)} to {_said(self.end)} UTC"

    @property
    def typed_start(self) -> str:
        return self.start.strftime(_TYPED)

    @property
    def typed_end(self) -> str:
        return self.end.strftime(_TYPED)

    @property
    def earliest(self) -> str:
        return (datetime.now(UTC) - (ARCHIVED if self.archived else KEPT)).strftime(_TYPED)

    @property
    def query(self) -> str:
        """The address of this view, so that another page shows the same."""
        return urlencode({"range": self.name} if self.name else {"from": self.typed_start, "to": self.typed_end})

    @property
    def choices(self) -> Sequence[tuple[str, bool]]:
        names = (
            RANGES
            if self.archived
            else [name for name, (seconds, _) in RANGES.items() if seconds <= KEPT.total_seconds()]
        )
        return [(name, name == self.name) for name in names]

    @property
    def live_seconds(self) -> int:
        """How often a page of it is worth fetching again."""
        return max(10, self.step_seconds // 4) if self.name else 3_600


def of_request(request: HttpRequest, *, archived: bool = True) -> Range:
    """What the address asks for: `range`, or `from` and `to` in UTC. Whatever cannot be shown says so.

    What is not `archived` is shown as far as the database keeps it.
    """
    now = datetime.now(UTC)
    shown = _asked(request, now)
    if not archived and shown.of_days:
        shown = _last("14d", now, "This is kept for two weeks: these are the last.")
    return replace(shown, archived=archived)


def _asked(request: HttpRequest, now: datetime) -> Range:
    asked, start, end = (request.GET.get(name, "") for name in ("range", "from", "to"))
    if start or end:
        return _given(start, end, now)
    if asked and asked not in RANGES:
        return _last(USUAL, now, f"There is no range called {asked[:20]}: this is the last hour.")
    return _last(asked or USUAL, now)


def _last(name: str, now: datetime, mistake: str = "") -> Range:
    seconds, step = RANGES[name]
    return Range(name, now - timedelta(seconds=seconds), now, step, mistake)


def _given(start_text: str, end_text: str, now: datetime) -> Range:
    start, end = _read(start_text), _read(end_text) if end_text else now
    if start is None or end is None:
        return _last(USUAL, now, "From and to are moments in UTC, such as 2026-01-31T14:30: this is the last hour.")
    end = min(end, now)
    if start >= end:
        return _last(USUAL, now, "From has to be before to, and not in the future: this is the last hour.")
    if start >= now - KEPT - timedelta(minutes=1):
        start = max(start, now - KEPT)
        return Range("", start, end, _step(start, end, now))
    oldest = now - ARCHIVED
    mistake = "" if start >= oldest - timedelta(minutes=1) else "History goes a year back, where an archive has it."
    if end <= oldest:
        return _last("1y", now, mistake)
    start = max(start, oldest)
    days = 7 if end - start > MOST_STEPS * timedelta(days=1) else 1
    return Range("", start, end, days * DAY_SECONDS, mistake)


def _step(start: datetime, end: datetime, now: datetime) -> int:
    """The finest step that is still kept of the beginning and does not make too many points."""
    least = max(coarseness(start, now), (end - start).total_seconds() / MOST_STEPS)
    return next(step for step in STEPS_SECONDS if step >= least)


def _read(text: str) -> datetime | None:
    for form in (_TYPED, f"{_TYPED}:%S"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def _said(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M}"
