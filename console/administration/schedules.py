"""The page of schedules: the tasks that Celery beat sends, and the messages that become ready in the next hours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from console.access import roles
from console.access.roles import requires
from console.celery import app
from console.overview import standings
from console.web.htmx import render_page
from console.web.wording import number
from pipeline.jobs import schedules, starting
from queues.messages import due, periodic
from queues.messages.due import DueHour
from signalbox.celery.processes.beat import REPORT_SECONDS, in_words

MAX_NAMED = 5
MAX_TASKS = 500
"""Rows in the table of periodic tasks, those that are sent next."""
SILENT_AFTER = timedelta(seconds=4 * REPORT_SECONDS)
"""Time without a report after which the page says that a beat reports no longer."""


@dataclass(frozen=True)
class Periodic:
    """A task that a Celery beat sends: who sends it to which queue, when it did so last, and when it does so next.

    `origin` is the setting or the task behind the name. `silent_since` is the last report of a beat that reports no
    longer.
    """

    name: str
    origin: str
    application: str
    sender: str
    queue: str | None
    schedule: str
    last_at: datetime | None
    next_at: datetime | None
    silent_since: datetime | None = None

    @property
    def is_overdue(self) -> bool:
        """Return whether Signalbox's own beat should have started the next run already."""
        return not self.sender and self.next_at is not None and self.next_at < timezone.now()


@dataclass(frozen=True)
class HourAhead:
    """One hour, its number of messages in words, and its largest queues as (name, words)."""

    start: datetime
    messages: str
    queues: list[tuple[str, str]]
    more: int


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /schedules: the tasks that Celery beat sends, and the scheduled messages by hour and queue."""
    everything = not roles.is_scoped(request.user)
    numbers_of_queues = [one.numbers for one in standings.of_request(request).queues]
    reachable = {numbers.name for numbers in numbers_of_queues}
    tasks = _tasks(everything, reachable)
    waiting = [numbers for numbers in numbers_of_queues if numbers.scheduled]
    waiting.sort(key=lambda numbers: numbers.scheduled, reverse=True)
    names = {numbers.queue_id: numbers.name for numbers in waiting[: due.MAX_QUEUES]}
    hours = due.due_by_hour(list(names), timezone.now()) if names else []
    context = {
        "title": "Schedules",
        "everything": everything,
        "reachable": reachable,
        "tasks": tasks[:MAX_TASKS],
        "more_tasks": max(0, len(tasks) - MAX_TASKS),
        "hours": None if hours is None else [_ahead(hour, names) for hour in hours],
        "left_out": max(0, len(waiting) - len(names)),
        "most": due.MAX_QUEUES,
    }
    return render_page(request, "administration/schedules/browse.html", "administration/schedules/_list.html", context)


def _tasks(everything: bool, reachable: set[str]) -> list[Periodic]:
    """List the periodic tasks: Signalbox's own for those who see everything, others by the queue that they go to."""
    found = _runs() if everything else []
    now = timezone.now()
    for task in periodic.periodic_tasks():
        if task.application != app.main and (everything or task.queue in reachable):
            found.append(
                Periodic(
                    name=task.name,
                    origin=task.task,
                    application=task.application,
                    sender=task.sender,
                    queue=task.queue,
                    schedule=task.schedule,
                    last_at=task.last_at,
                    next_at=task.next_at,
                    silent_since=task.reported_at if now - task.reported_at > SILENT_AFTER else None,
                )
            )
    return found


def _runs() -> list[Periodic]:
    now = timezone.now()
    found = []
    for kind, schedule in settings.PIPELINE_SCHEDULES.items():
        if schedule is not None:
            last = starting.last_scheduled(kind)
            last_at = None if last is None else last.requested_at
            found.append(
                Periodic(
                    name=f"Pipeline: {kind}",
                    origin=f"{kind.upper()}_SCHEDULE",
                    application="Signalbox",
                    sender="",
                    queue=settings.PIPELINE_QUEUE,
                    schedule=in_words(schedule),
                    last_at=last_at,
                    next_at=schedules.next_time(schedule, last_at, now),
                )
            )
    return found


def _ahead(hour: DueHour, names: dict[int, str]) -> HourAhead:
    total = sum(count.messages for count in hour.counts)
    is_cut = any(count.is_cut for count in hour.counts)
    shown = [(names[count.queue_id], _counted(count.messages, count.is_cut)) for count in hour.counts[:MAX_NAMED]]
    return HourAhead(hour.start, _counted(total, is_cut), shown, len(hour.counts) - len(shown))


def _counted(messages: int, is_cut: bool) -> str:
    return f"{number(messages)}+" if is_cut else number(messages)
