"""Schedules of the pipeline for celery beat: for each verb a setting, in seconds or five crontab fields."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from celery.schedules import ParseException, crontab

EXPIRES_SECONDS = 600
"""Time after which a request that no worker took expires, so that no run begins hours later."""
ACTOR = "schedule"
MAX_SECONDS = 31_536_000
SHORTEST_SECONDS = 10

Schedule: TypeAlias = float | crontab | None
"""An interval in seconds, crontab times, or None: no schedule."""


def parsed(text: str) -> Schedule:
    """Parse a setting; None for an empty one. Raises ValueError, whose message says what is allowed."""
    if not text:
        return None
    fields = text.split()
    if len(fields) == 1 and text.isascii() and text.isdigit() and SHORTEST_SECONDS <= int(text) <= MAX_SECONDS:
        return float(text)
    if len(fields) == 5:
        minute, hour, day_of_month, month_of_year, day_of_week = fields
        try:
            return crontab(minute, hour, day_of_week, day_of_month, month_of_year)
        except (ParseException, ValueError):
            pass
    raise ValueError(f"seconds from {SHORTEST_SECONDS} to {MAX_SECONDS}, or five fields of a crontab")


def beat(schedules: Mapping[str, Schedule]) -> dict[str, dict[str, Any]]:
    """Return Celery's setting `beat_schedule` for the schedules of the verbs."""
    options = {"expires": EXPIRES_SECONDS}
    return {
        f"pipeline {verb}": {"task": f"pipeline.{verb}", "schedule": schedule, "options": options}
        for verb, schedule in schedules.items()
        if schedule is not None
    }


def next_time(schedule: float | crontab, last: datetime | None, now: datetime) -> datetime:
    """Compute when a schedule starts its next run; a time before `now` is overdue."""
    if isinstance(schedule, crontab):
        remaining: timedelta = schedule.remaining_estimate(now)
        return now + max(remaining, timedelta(0))
    return now if last is None else last + timedelta(seconds=schedule)
