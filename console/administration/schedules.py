"""The page of schedules: the runs that celery beat starts, and the messages that become ready in the next hours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from console.access import roles
from console.access.roles import requires
from console.overview import standings
from console.web.htmx import render_page
from console.web.wording import number
from pipeline.jobs import schedules, starting
from queues.messages import due
from queues.messages.due import DueHour

MAX_NAMED = 5


@dataclass(frozen=True)
class ScheduledRun:
    """A schedule of celery beat, its last run and its next run."""

    name: str
    setting: str
    schedule: str
    last_at: datetime | None
    next_at: datetime

    @property
    def is_overdue(self) -> bool:
        """Return whether the next run should have started."""
        return self.next_at < timezone.now()


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
    """GET /schedules: the schedules of celery beat, and the scheduled messages by hour and queue."""
    everything = not roles.is_scoped(request.user)
    waiting = [one.numbers for one in standings.of_request(request).queues if one.numbers.scheduled]
    waiting.sort(key=lambda numbers: numbers.scheduled, reverse=True)
    names = {numbers.queue_id: numbers.name for numbers in waiting[: due.MAX_QUEUES]}
    hours = due.due_by_hour(list(names), timezone.now()) if names else []
    context = {
        "title": "Schedules",
        "everything": everything,
        "runs": _runs() if everything else [],
        "hours": None if hours is None else [_ahead(hour, names) for hour in hours],
        "left_out": max(0, len(waiting) - len(names)),
        "most": due.MAX_QUEUES,
    }
    return render_page(request, "administration/schedules/browse.html", "administration/schedules/_list.html", context)


def _runs() -> list[ScheduledRun]:
    now = timezone.now()
    found = []
    for kind, schedule in settings.PIPELINE_SCHEDULES.items():
        if schedule is not None:
            last = starting.last_scheduled(kind)
            last_at = None if last is None else last.requested_at
            next_at = schedules.next_time(schedule, last_at, now)
            name, setting = f"Pipeline: {kind}", f"{kind.upper()}_SCHEDULE"
            found.append(ScheduledRun(name, setting, schedules.in_words(schedule), last_at, next_at))
    return found


def _ahead(hour: DueHour, names: dict[int, str]) -> HourAhead:
    total = sum(count.messages for count in hour.counts)
    is_cut = any(count.is_cut for count in hour.counts)
    shown = [(names[count.queue_id], _counted(count.messages, count.is_cut)) for count in hour.counts[:MAX_NAMED]]
    return HourAhead(hour.start, _counted(total, is_cut), shown, len(hour.counts) - len(shown))


def _counted(messages: int, is_cut: bool) -> str:
    return f"{number(messages)}+" if is_cut else number(messages)
