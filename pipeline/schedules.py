"""When the pipeline works by itself: a setting for each verb, seconds or five fields of a crontab, for celery beat.

Beat may be doubled: of two that start the same work one finds the other at it, and leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from celery.schedules import ParseException, crontab

EXPIRES_SECONDS = 600
"""Nobody is helped by the runs of a night in which no worker was there."""
ACTOR = "schedule"
LONGEST_SECONDS = 31_536_000
SHORTEST_SECONDS = 10

Schedule: TypeAlias = float | crontab | None
"""Every so many seconds, at these times, or never."""


def parsed(text: str) -> Schedule:
    """None for an empty one. Raises ValueError, whose message says what it may be."""
    if not text:
        return None
    fields = text.split()
    if len(fields) == 1 and text.isascii() and text.isdigit() and SHORTEST_SECONDS <= int(text) <= LONGEST_SECONDS:
        return float(text)
    if len(fields) == 5:
        minute, hour, day_of_month, month_of_year, day_of_week = fields
        try:
            return crontab(minute, hour, day_of_week, day_of_month, month_of_year)
        except (ParseException, ValueError):
            pass
    raise ValueError(f"seconds from {SHORTEST_SECONDS} to {LONGEST_SECONDS}, or five fields of a crontab")


def beat(schedules: Mapping[str, Schedule]) -> dict[str, dict[str, Any]]:
    """Celery's setting, from verbs and when they are due."""
    return {
        f"pipeline {verb}": {
            "task": f"pipeline.{verb}",
            "schedule": schedule,
            "options": {"expires": EXPIRES_SECONDS},
        }
        for verb, schedule in schedules.items()
        if schedule is not None
    }
