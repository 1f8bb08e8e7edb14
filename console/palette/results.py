"""Results of the palette: a few of each kind, each found by an index or in a small table, and never among payloads.

Every search is cut to the queues that the person reaches, so that the palette names only what its pages would show.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet, Value
from django.db.models.functions import Lower, StrIndex
from django.http import HttpRequest
from django.urls import reverse

from console.access import roles
from console.messages.views import seen_queue
from console.redrives.jobs import seen_of
from console.web import sidebar
from console.web.shortcuts import keys_of
from console.web.wording import plural
from dlq.discards.models import Discard
from dlq.failure_groups.reading import FailureGroup, read_groups
from dlq.jobs.models import Deletion, Job, Purge, Redrive, Undo
from dlq.redrives.plan_models import Plan
from dlq.search.reach import place_of
from queues.database.names import reached_ids
from queues.database.time_limits import OutOfTime, time_limit
from queues.failure_groups.finding import find_groups
from queues.models import Queue
from queues.stream_models import Stream

MAX_RESULTS = 6
"""The maximum number of results of one kind."""
MILLISECONDS = 500
"""The time limit for one kind of results. A kind that takes longer is left out."""
JOBS: tuple[type[Job] | type[Plan], ...] = (Redrive, Purge, Deletion, Undo, Discard, Plan)
_NUMBERED = re.compile(r"(?:(redrive|purge|deletion|undo|discard|plan) ?)?#?([0-9]{1,18})", re.IGNORECASE)


@dataclass(frozen=True)
class Result:
    """A page that the text names."""

    url: str
    title: str
    detail: str = ""
    keys: tuple[str, ...] = ()
    """The keyboard shortcut of the same page; empty if there is none."""


@dataclass(frozen=True)
class Section:
    """Results of one kind."""

    title: str
    results: Sequence[Result]


def find(request: HttpRequest, text: str) -> list[Section]:
    """Find what the text names, in sections without empty ones; without a text, the pages."""
    found = [(title, _in_time(finder, request, text)) for title, finder in FINDERS.items() if text or title == "Pages"]
    return [Section(title, results) for title, results in found if results]


Finder = Callable[[HttpRequest, str], Iterable[Result]]


def _in_time(finder: Finder, request: HttpRequest, text: str) -> list[Result]:
    try:
        with time_limit(MILLISECONDS):
            return list(finder(request, text))
    except OutOfTime:
        return []


# ---- one kind each


def _messages(request: HttpRequest, text: str) -> Iterator[Result]:
    if not re.fullmatch("[0-9]{1,18}", text):
        return
    message_id = int(text)
    if queue := seen_queue(request, message_id):
        yield Result(reverse("message", args=[queue, message_id]), f"Message {message_id}", queue)


def _jobs(request: HttpRequest, text: str) -> Iterator[Result]:
    numbered = _NUMBERED.fullmatch(text)
    if numbered is None:
        return
    noun, number = numbered.groups()
    for model in JOBS:
        if noun is None or noun.lower() == _noun(model):
            for job in seen_of(request, model._default_manager.filter(pk=int(number))):
                yield Result(_job_url(job), f"{_noun(model).capitalize()} #{job.pk}", _job_detail(job))


def _noun(model: type[Job] | type[Plan]) -> str:
    return "plan" if model is Plan else model.NOUN


def _job_url(job: Job | Plan) -> str:
    return reverse("redrive_plan" if isinstance(job, Plan) else job.NOUN, args=[job.pk])


def _job_detail(job: Job | Plan) -> str:
    state = "" if isinstance(job, Plan) else f"{Job.State(job.state).label.lower()}, "
    return f"{state}created by {job.created_by}"


def _queues(request: HttpRequest, text: str) -> Iterator[Result]:
    reach = roles.reach(request.user, "see_metadata")
    for queue in _named(Queue.objects.filter(reach.among()), text):
        # A person with a limited reach sees a dead-letter queue only if the reach has all queues that use it.
        if not queue.is_dead_letter_queue or not roles.is_scoped(request.user) or place_of(queue).is_within(reach):
            kind = "dead-letter queue" if queue.is_dead_letter_queue else ""
            yield Result(reverse("queue", args=[queue.name]), queue.name, kind)


def _streams(request: HttpRequest, text: str) -> Iterator[Result]:
    reach = roles.reach(request.user, "see_metadata")
    for stream in _named(Stream.objects.filter(reach.among()), text):
        yield Result(reverse("stream", args=[stream.name]), stream.name)


def _named(things: QuerySet, text: str) -> QuerySet:
    """Select the first few rows whose name contains the text; names that begin with the text come first."""
    position = StrIndex(Lower("name"), Value(text.lower()))
    found = things.select_related("tenant").annotate(position=position).filter(position__gt=0)
    return found.order_by("position", "name")[:MAX_RESULTS]


def _failure_groups(request: HttpRequest, text: str) -> Iterator[Result]:
    reached = reached_ids(roles.reach(request.user, "see_metadata"))
    heads = find_groups(text, reached, MAX_RESULTS).column()
    for group in read_groups(heads, reached, reached):
        if reached is None or group.sources:
            yield Result(reverse("failure_group", args=[group.fingerprint]), group.words, _group_detail(group))


def _group_detail(group: FailureGroup) -> str:
    where = [source.queue for source in group.sources if source.queue][:1]
    return " in ".join([plural(group.dead, "dead letter"), *where])


def _pages(request: HttpRequest, text: str) -> Iterator[Result]:
    for item in sidebar.items_seen(request):
        if text.lower() in item.label.lower():
            yield Result(item.url, item.label, keys=keys_of(item))


FINDERS: dict[str, Finder] = {
    "Messages": _messages,
    "Jobs": _jobs,
    "Queues": _queues,
    "Streams": _streams,
    "Failure groups": _failure_groups,
    "Pages": _pages,
}
