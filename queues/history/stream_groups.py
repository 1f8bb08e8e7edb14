"""The lag of a consumer group over the last two weeks, for charts, as upkeep has recorded it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from queues.database.query import fetch, query_text
from queues.history.series import EPOCH

_TABLES = ((600, "group_history_ten_minutes"), (60, "group_history_minute"), (10, "group_history"))

_STEPS = query_text("history/stream_groups")


@dataclass(frozen=True)
class GroupStep:
    """One step of time: the highest values within it; None when nothing was recorded."""

    at: datetime
    lag_messages: int | None
    lag_seconds: float | None
    members: int | None


def read(group_id: int, start: datetime, end: datetime, step_seconds: int) -> list[GroupStep]:
    """Read the steps from `start` to `end`, oldest first; one query."""
    table = next(name for seconds, name in _TABLES if step_seconds >= seconds and step_seconds % seconds == 0)
    parameters = {"step": f"{step_seconds} seconds", "group_id": group_id, "start": start, "end": end}
    known = {row[0]: row[1:] for row in fetch(_STEPS.replace("group_history", table), parameters)}
    first, step = start - (start - EPOCH) % timedelta(seconds=step_seconds), timedelta(seconds=step_seconds)
    times = [first + step * number for number in range((end - first) // step + 1)]
    return [GroupStep(at, *known.get(at, (None, None, None))) for at in times]
