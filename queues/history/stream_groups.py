"""The progress of a group over the last two weeks, for charts: read from what upkeep has recorded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from queues.database.query import fetch
from queues.history.series import EPOCH

_TABLES = ((600, "group_history_ten_minutes"), (60, "group_history_minute"), (10, "group_history"))

_STEPS = """
select date_bin(%(step)s::interval, bucket_at, timestamptz '2000-01-01 00:00+00'), max(lag_messages), max(lag_seconds),
  max(members)
from signalbox.group_history
where group_id = %(group_id)s and bucket_at >= %(start)s and bucket_at <= %(end)s
group by 1
"""


@dataclass(frozen=True)
class GroupStep:
    """One stretch of time: the highest within it; None where nothing was recorded."""

    at: datetime
    lag_messages: int | None
    lag_seconds: float | None
    members: int | None


def read(group_id: int, start: datetime, end: datetime, step_seconds: int) -> list[GroupStep]:
    """The steps from `start` to `end`, oldest first; one query."""
    table = next(name for seconds, name in _TABLES if step_seconds >= seconds and step_seconds % seconds == 0)
    parameters = {"step": f"{step_seconds} seconds", "group_id": group_id, "start": start, "end": end}
    known = {row[0]: row[1:] for row in fetch(_STEPS.replace("group_history", table), parameters)}
    first, step = start - (start - EPOCH) % timedelta(seconds=step_seconds), timedelta(seconds=step_seconds)
    times = [first + step * number for number in range((end - first) // step + 1)]
    return [GroupStep(at, *known.get(at, (None, None, None))) for at in times]
