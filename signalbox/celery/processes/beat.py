"""Reports of Celery beat: its schedule is stored in the database, so that the console shows who sends what when.

The transport imports this module in a process of Celery beat. Beat reports when it starts and every 30 seconds, which
also shows that it runs. A report that fails never keeps beat from sending.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from datetime import UTC, datetime, timedelta
from functools import wraps
from itertools import islice
from typing import Any

from celery.beat import Scheduler
from celery.schedules import crontab
from kombu import Queue

from signalbox.celery import calls
from signalbox.celery.calls import engine_name

REPORT_SECONDS = 30.0
#: Entries in one report; the engine refuses more.
MAX_ENTRIES = 1_000
MAX_CHARACTERS = 200

logger = logging.getLogger(__name__)


class Report:
    """The reports of one scheduler: when the next one is due, and whether the last one failed."""

    def __init__(self) -> None:
        self._due_at = 0.0
        self._has_failed = False

    def make_if_due(self, scheduler: Any) -> None:
        """Store the schedule if the last report is `REPORT_SECONDS` old; a failure is logged once."""
        if time.monotonic() < self._due_at:
            return
        try:
            _store(scheduler)
            self._has_failed = False
        except Exception:
            if not self._has_failed:
                logger.warning("The schedule of Celery beat could not be reported to the console.", exc_info=True)
            self._has_failed = True
        self._due_at = time.monotonic() + REPORT_SECONDS


def report_schedules() -> None:
    """Let each scheduler of this process report its schedule, from its next tick on."""
    if not hasattr(Scheduler.tick, "__wrapped__"):
        Scheduler.tick = _reporting(Scheduler.tick)


def _reporting(tick: Any) -> Any:
    @wraps(tick)
    def tick_and_report(scheduler: Any, *arguments: Any, **options: Any) -> Any:
        seconds = tick(scheduler, *arguments, **options)
        if seconds == 0:
            return seconds  # another task is due: it is sent first
        report: Report = scheduler.__dict__.setdefault("_signalbox_report", Report())
        report.make_if_due(scheduler)
        return min(seconds, REPORT_SECONDS)

    return tick_and_report


def _store(scheduler: Any) -> None:
    app = scheduler.app
    entries = [described(app, entry) for entry in islice(scheduler.schedule.values(), MAX_ENTRIES)]
    with app.connection_for_write() as connection:
        verbs = getattr(connection.transport, "verbs", None)
        if verbs is not None:  # else the broker of another application
            sender = f"{socket.gethostname()}:{os.getpid()}"
            verbs._run(calls.report_schedule((app.main or "celery")[:MAX_CHARACTERS], sender, entries))


def described(app: Any, entry: Any) -> dict[str, str | None]:
    """Describe an entry of a schedule: its task, its queue, its times in words, its last and its next time."""
    is_due, seconds = entry.is_due()
    next_at = datetime.now(UTC) + timedelta(seconds=0 if is_due else seconds)
    last_at = entry.last_run_at.astimezone(UTC) if entry.total_run_count and entry.last_run_at else None
    return {
        "name": str(entry.name)[:MAX_CHARACTERS],
        "task": str(entry.task)[:MAX_CHARACTERS],
        "queue": _queue(app, entry),
        "schedule": in_words(entry.schedule)[:MAX_CHARACTERS],
        "last_at": last_at and last_at.isoformat(),
        "next_at": next_at.isoformat(),
    }


def _queue(app: Any, entry: Any) -> str | None:
    """Return the queue that Celery's routes choose for an entry; None if they name an exchange only."""
    task = app.tasks.get(entry.task)
    options = {**(task._get_exec_options() if task else {}), **entry.options}
    queue = app.amqp.router.route(options, entry.task).get("queue")
    name = queue.name if isinstance(queue, Queue) else queue
    return engine_name(name) if name else None


def in_words(schedule: Any) -> str:
    """Return a schedule as people write it: five crontab fields, seconds, or what Celery prints for other kinds.

    Crontab fields are in UTC; another time zone of the application is named after them.
    """
    if isinstance(schedule, crontab):
        names = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
        fields = " ".join(str(getattr(schedule, f"_orig_{name}")) for name in names)
        return fields if str(schedule.tz) == "UTC" else f"{fields} {schedule.tz}"
    seconds = getattr(schedule, "run_every", schedule)
    if isinstance(seconds, timedelta):
        seconds = seconds.total_seconds()
    return f"every {seconds:g} seconds" if isinstance(seconds, int | float) else str(schedule)
