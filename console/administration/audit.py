"""Pages of the audit: every action, its actor and its reason, with a filter.

Rows are only added. A person who sees some queues sees the actions on these, and no names of others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from console.access import roles
from console.access.roles import requires
from console.access.subjects import QUEUE
from console.filters.filter_bar import FilterBar, Suggestion, typed
from console.filters.list_explanations import explain
from console.filters.list_filter_grammar import Key, parse
from console.queues import head as queue_head
from console.web import pagination
from console.web.htmx import render_page
from console.web.sorting import Columns, arrange_newest
from console.web.wording import plural
from dlq.filters import FilterError
from dlq.filters import parse as parse_filter
from dlq.filters.readings import MisreadError, duration, moment, whole_number
from dlq.search.reach import JobReach
from queues.models import AuditEvent, Queue
from queues.reach import Reach

NUMBERED = ("redrive", "deletion", "purge", "undo", "discard", "message")
"""Nouns that an action may be about. `AuditEvent.details` has the number as `<noun>_id`."""
_PAGES = {"message": "message_find", "plan": "redrive_plan"}
LINKED = (*(f"{noun}_id" for noun in (*NUMBERED, "plan")), "fingerprint")
"""Names in `AuditEvent.details` that `links` turns into links."""
MAX_FINGERPRINT = 600


COLUMNS: Columns[AuditEvent] = {
    "actor": lambda event: event.actor,
    "action": lambda event: event.action,
    "queue": lambda event: event.queue_name or None,
}


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /audit: every action that the filter selects, newest first."""
    reach = roles.reach(request.user, "see_metadata")
    events, mistake = select(within(AuditEvent.objects.all(), reach), typed(request))
    context = {
        "title": "Audit log",
        "export_url": f"{reverse('export_audit')}?{urlencode({'q': typed(request)})}",
        **(listed := _page(request, events)),
        "explanations": [] if listed["page"].rows else explain(request, typed(request), KEYS, "reason"),
        "list": {"action": f"{reverse('audit')}?q="},
        "bar": FilterBar(
            text=typed(request),
            label="Filter actions",
            action=reverse("audit"),
            placeholder="actor: action: queue: at: redrive: reason:",
            keys=[Suggestion(f"{name}:", key.help) for name, key in KEYS.items()],
            example="actor:ana action:queue.pause age:<1d",
            mistake=mistake,
        ),
    }
    return render_page(request, "administration/audit/browse.html", "administration/audit/_list.html", context)


@require_safe
@requires("see_metadata", of=QUEUE)
def of_queue(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/audit: the actions on one queue."""
    head = queue_head.find(name)
    events = AuditEvent.objects.filter(queue_id=head.numbers.queue_id)
    context = {"title": f"Audit · {name}", "head": head, "tab": "audit", **_page(request, events)}
    return render_page(request, "queues/audit.html", "administration/audit/_list.html", context)


def _page(request: HttpRequest, events: QuerySet[AuditEvent]) -> dict[str, Any]:
    listed = arrange_newest(request, events, "audit_event_id", COLUMNS, time="at")
    shown = visible_events(listed.page.rows, roles.reach(request.user, "see_metadata"))
    page, words = replace(listed.page, rows=shown), f"{plural(len(shown), 'action')} shown{listed.limits}"
    return {"page": page, "sort": listed.links, "pager": pagination.pager(request, page, words)}


def select(events: QuerySet[AuditEvent], text: str) -> tuple[QuerySet[AuditEvent], FilterError | None]:
    """Return the events that `text` selects, or all of them with the first mistake in `text`."""
    selected = events
    try:
        for term in parse(text, KEYS, wordless="reason"):
            matching = reduce(or_, map(_READ[term.key], term.values))
            selected = selected.exclude(matching) if term.negated else selected.filter(matching)
    except FilterError as error:
        return events, error
    return selected, None


def _times(text: str) -> Q:
    """Parse a day, a moment, or a range from the beginning of the first to the end of the last."""
    first, dots, last = text.partition("..")
    if not first and not last:
        raise MisreadError("a date, a time, or two with .. between them")
    chosen = Q()
    if first:
        chosen &= Q(at__gte=moment(first).start)
    if last or not dots:
        chosen &= Q(at__lt=moment(last or first).end)
    return chosen


def _ages(text: str) -> Q:
    """Parse an age: `<1d` is younger than a day, `>2h` is older than two hours."""
    if not text.startswith(("<", ">")):
        raise MisreadError("< or > and a duration, as in <1d")
    bound = datetime.now(UTC) - duration(text[1:])
    return Q(at__gte=bound) if text.startswith("<") else Q(at__lt=bound)


def _detail(name: str, read: Callable[[str], Any] = str) -> Callable[[str], Q]:
    return lambda text: Q(details__contains={name: read(text)})


KEYS = {
    "actor": Key("The actor.", read=lambda text: Q(actor=text), aliases=("who",)),
    "action": Key(
        "The action, such as queue.pause; a prefix is enough.",
        read=lambda text: Q(action__startswith=text),
        aliases=("did",),
    ),
    "queue": Key("The queue of the action.", read=lambda text: Q(queue_name=text), aliases=("target", "to")),
    "reason": Key(
        "Part of the reason. Words without a key also search the reason.", read=lambda text: Q(reason__icontains=text)
    ),
    "at": Key(
        "The time: a day, a moment, or a range such as 2026-01-31..2026-02-02.", read=_times, aliases=("when", "time")
    ),
    "age": Key("The age: <1d is the last day, >1d is before it.", read=_ages),
    "row": Key(
        "The position in the chain, as manage.py audit verify prints it.",
        read=lambda text: Q(position=whole_number(text)),
    ),
    "tenant": Key("The tenant whose quotas changed.", read=_detail("tenant")),
    "person": Key("The person whose role changed.", read=_detail("person")),
    "key": Key("The API key that was created or revoked. Its own actions have actor:key:NAME.", read=_detail("key")),
    **{noun: Key(f"The {noun} of this number.", read=_detail(f"{noun}_id", whole_number)) for noun in NUMBERED},
}
_READ = {name: key.read for name, key in KEYS.items() if key.read is not None}


def links(event: AuditEvent) -> list[tuple[str, str, int | str]]:
    """Return (words, URL name, number or fingerprint) for each thing that the event is about."""
    details = _details(event)
    found: list[tuple[str, str, int | str]] = []
    for noun in (*NUMBERED, "plan"):
        number = details.get(f"{noun}_id")
        if isinstance(number, int) and 0 < number < 10**18:
            found.append((f"{noun} {number}", _PAGES.get(noun, noun), number))
    if isinstance(fingerprint := details.get("fingerprint"), str) and 0 < len(fingerprint) <= MAX_FINGERPRINT:
        found.append((f"failure group {fingerprint}", "failure_group", fingerprint))
    return found


def within(events: QuerySet[AuditEvent], reach: Reach) -> QuerySet[AuditEvent]:
    """Limit events to queues that are reached. Deleted queues, and events about no queue, are left out."""
    if reach.is_everything:
        return events
    return events.filter(queue_id__in=Queue.objects.filter(reach.among()).values("queue_id"))


def visible_events(events: Iterable[AuditEvent], reach: Reach) -> Sequence[AuditEvent]:
    """Remove details that name queues or tenants beyond reach, such as a redrive's filter."""
    known = JobReach(reach)
    shown = list(events)
    for event in shown if not reach.is_everything else ():
        if not known.has(_names(event)) or not all(known.has_tenant(name) for name in _asked(event, "tenant")):
            event.details, event.reason = {}, ""
    return shown


def _names(event: AuditEvent) -> list[str]:
    """Return the queues that the details of an event name; an empty name stands for an unreadable filter."""
    target = _details(event).get("target_queue")
    named = [target] if isinstance(target, str) else []
    try:
        return [*named, *_asked(event, "queue")]
    except FilterError:
        return [*named, ""]


def _asked(event: AuditEvent, key: str) -> list[str]:
    terms = parse_filter(str(_details(event).get("filter") or "")).terms
    return [name for term in terms if term.key == key for name in term.literals]


def _details(event: AuditEvent) -> dict[str, Any]:
    return event.details if isinstance(event.details, dict) else {}
