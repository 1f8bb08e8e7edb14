"""The schedules that processes of Celery beat have reported: which application sends which task when."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from queues.database.query import fetch

MAX_APPLICATIONS = 100
"""Applications whose schedules are read, those that reported last."""
KEPT = timedelta(days=7)
"""Time after its last report for which a schedule is shown (`sql/broker/report_schedule.sql`)."""

_REPORTS = """
select b.application, b.sender, b.reported_at, b.entries
from signalbox.beat_schedule b
where b.reported_at > now() - %(kept)s::interval
order by b.reported_at desc
limit %(most)s
"""


@dataclass(frozen=True)
class PeriodicTask:
    """An entry of a schedule, and when its beat reported it. A time that the report does not state is None."""

    application: str
    sender: str
    reported_at: datetime
    name: str
    task: str
    queue: str | None
    schedule: str
    last_at: datetime | None
    next_at: datetime | None


def periodic_tasks() -> list[PeriodicTask]:
    """Read the reported schedules: the task that is sent next comes first."""
    rows = fetch(_REPORTS, {"kept": KEPT, "most": MAX_APPLICATIONS})
    tasks = [
        _task(application, sender, reported_at, entry)
        for application, sender, reported_at, entries in rows
        for entry in json.loads(entries)
        if isinstance(entry, Mapping)
    ]
    latest = datetime.max.replace(tzinfo=UTC)
    return sorted(tasks, key=lambda task: (task.next_at or latest, task.application, task.name))


def _task(application: str, sender: str, reported_at: datetime, entry: Mapping[str, Any]) -> PeriodicTask:
    texts = {name: str(entry.get(name) or "")[:200] for name in ("name", "task", "queue", "schedule")}
    return PeriodicTask(
        application=application,
        sender=sender,
        reported_at=reported_at,
        name=texts["name"],
        task=texts["task"],
        queue=texts["queue"] or None,
        schedule=texts["schedule"],
        last_at=_time(entry.get("last_at")),
        next_at=_time(entry.get("next_at")),
    )


def _time(text: object) -> datetime | None:
    """Read a time of a report, which any role with the rights of a broker may have written."""
    try:
        time = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return time if time.tzinfo else None
