"""Counts of scheduled messages by queue and hour: how many become ready in each of the next hours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from queues.database.query import fetch
from queues.database.time_limits import OutOfTime, slice_limit

HOURS = 24
MAX_COUNTED = 1_000
"""Messages that are counted in one hour of one queue; each count reads a range of an index."""
MAX_QUEUES = 30

_DUE = """
select q.queue_id, h.hour, counted.messages
from unnest(%(queue_ids)s::integer[]) q(queue_id)
cross join generate_series(0, %(hours)s - 1) h(hour)
cross join lateral (
  select count(*) as messages
  from (
    select
    from signalbox.scheduled s
    where s.queue_id = q.queue_id
      and s.due_at >= case when h.hour = 0 then '-infinity' else %(start)s::timestamptz + h.hour * interval '1 hour' end
      and s.due_at < %(start)s::timestamptz + (h.hour + 1) * interval '1 hour'
    limit %(most)s
  ) found
) counted
where counted.messages > 0
order by h.hour, counted.messages desc
"""


@dataclass(frozen=True)
class DueCount:
    """The messages of one queue that become ready in one hour; at MAX_COUNTED there may be more."""

    queue_id: int
    messages: int

    @property
    def is_cut(self) -> bool:
        return self.messages >= MAX_COUNTED


@dataclass(frozen=True)
class DueHour:
    """One hour ahead and the queues with messages that become ready in it, the largest count first."""

    start: datetime
    counts: tuple[DueCount, ...]


def due_by_hour(queue_ids: Sequence[int], now: datetime) -> list[DueHour] | None:
    """Count the messages due in each of the next `HOURS` clock hours; the first hour includes overdue messages.

    Reads at most `MAX_QUEUES` queues. None if the time limit was reached.
    """
    start = now.replace(minute=0, second=0, microsecond=0)
    values = {"queue_ids": list(queue_ids)[:MAX_QUEUES], "hours": HOURS, "start": start, "most": MAX_COUNTED}
    try:
        with slice_limit():
            rows = fetch(_DUE, values)
    except OutOfTime:
        return None
    by_hour: dict[int, list[DueCount]] = {}
    for queue_id, hour, messages in rows:
        by_hour.setdefault(hour, []).append(DueCount(queue_id, messages))
    return [DueHour(start + timedelta(hours=hour), tuple(counts)) for hour, counts in by_hour.items()]
