"""Pages of messages: the list of each state, one message, and sending a message by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.contrib import messages as notices
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.access import roles
from console.access.roles import requires
from console.access.subjects import QUEUE
from console.filters.filter_bar import FilterBar, message_filter, note, saved, suggestions, typed
from console.masking import masked
from console.messages import narration, payloads
from console.messages.downloads import as_file, large_body_file
from console.messages.stories import edit_denial, known_story, of_payload
from console.queues import head as queue_head
from console.queues.head import QueueHead
from console.web import pagination, sidebar
from console.web.forms import refused
from console.web.forms.fields import JsonTextField, ReasonForm, number_field, refusals, seconds_field
from console.web.htmx import render_form, render_page
from console.web.sorting import Columns, SortedPage, arrange_read
from console.web.wording import number
from dlq.filters import FilterError
from dlq.search import message_list
from dlq.search.checked_filter import CheckedFilter, everything
from dlq.search.explanations import explain
from dlq.search.message_list import TARGETS, MessageRow
from dlq.search.pages import Page, PagePosition
from dlq.search.samples import Place
from dlq.search.saved_filters import SavedFilter
from queues import audit, messages
from queues.dead_letters.neighbours import neighbours_of
from queues.messages.lists import State, is_ascending
from queues.messages.rescheduling import MAX_AT_ONCE
from queues.messages.story import Standing, Story, queues_of, read_story
from queues.settings import MAX_SECONDS
from signalbox.arguments import MAX_PRIORITY
from signalbox.payloads import binary

LABELS = {
    State.READY: "Ready",
    State.LEASED: "In flight",
    State.SCHEDULED: "Scheduled",
    State.WAITING: "Waiting for their group",
    State.COMPLETED: "Completed",
}


TIME_LABELS = {
    State.READY: "Ready since",
    State.LEASED: "Deadline",
    State.SCHEDULED: "Due",
    State.WAITING: "Waiting since",
    State.COMPLETED: "Completed",
}


class SendForm(forms.Form):
    """A message to send by hand."""

    payload = JsonTextField(initial="{}", max_length=262_144, help_text="Any JSON value.")
    attributes = JsonTextField(required=False, max_length=16_384, help_text="A JSON object. Default: none.")
    priority = forms.IntegerField(
        initial=0, min_value=0, max_value=MAX_PRIORITY, help_text="A higher priority is delivered first."
    )
    delay_seconds = seconds_field("Delay", "Default: the delay of the queue.", MAX_SECONDS)
    group_id = forms.CharField(label="Group id", required=False, empty_value=None, max_length=200)
    deduplication_id = forms.CharField(
        label="Deduplication id",
        required=False,
        empty_value=None,
        max_length=200,
        help_text="A second message with this id is not sent.",
    )
    expires_at = seconds_field("Expires after", "It is not delivered after this time. Default: never.", MAX_SECONDS)
    max_receives = number_field(
        "Max delivery attempts", "After the last one it is a dead letter. Default: as the queue says.", 1, 1000
    )

    def clean_expires_at(self) -> datetime | None:
        seconds = self.cleaned_data["expires_at"]
        return None if seconds is None else timezone.now() + timedelta(seconds=seconds)

    def clean_attributes(self) -> dict[str, Any] | None:
        attributes = self.cleaned_data["attributes"]
        if attributes is not None and not isinstance(attributes, dict):
            raise forms.ValidationError('Attributes are a JSON object. Enter one such as {"region": "eu"}.')
        return attributes


COLUMNS: Columns[MessageRow] = {
    "message": lambda row: row.message_id,
    "group": lambda row: row.group_id,
    "priority": lambda row: row.priority,
    "attempts": lambda row: row.receive_count,
    "consumer": lambda row: row.consumer,
    "sent": lambda row: row.sent_at,
}


@require_safe
@requires("see_metadata", of=QUEUE)
def browse(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/messages: the messages of one state that the filter selects, a page at a time."""
    head = queue_head.find(name)
    asked = request.GET.get("state", "")
    state = State(asked) if asked in set(State) else State.READY
    mistake, filter = None, everything()
    try:
        filter = message_filter(request, typed(request), name, TARGETS[state])
        listed = _listed(request, head, state, filter)
    except FilterError as error:
        mistake, filter = error, everything()
        listed = _listed(request, head, state, filter)
    page = listed.page
    reach = roles.reach(request.user, "see_metadata")
    place = Place(TARGETS[state], head.numbers.queue_id, reach)
    context = {
        "title": f"Messages · {name}",
        "head": head,
        "tab": "messages",
        "state": state.value,
        "state_label": LABELS[state],
        "time_label": TIME_LABELS[state],
        "states": _states(head, state),
        "page": page,
        "most_at_once": MAX_AT_ONCE,
        "sort": listed.links,
        "explanations": [] if page.rows or page.searched_to or mistake else explain(filter, place),
        "bar": replace(_bar(request, head, state, mistake), note=note(request, filter, name)),
        "saved": saved(request, SavedFilter.Page.MESSAGES, f"{request.path}?state={state}&q="),
        "pager": pagination.pager(request, page, f"{number(len(page.rows))} shown{listed.limits}"),
        "export_url": f"{reverse('export_messages', args=[name])}?{urlencode({'state': state, 'q': typed(request)})}",
    }
    return render_page(request, "messages/browse.html", "messages/_list.html", context)


def _listed(request: HttpRequest, head: QueueHead, state: State, filter: CheckedFilter) -> SortedPage[MessageRow]:
    """Read a page by the time of the state, whose order an index has; another column sorts the first messages."""
    first, asked = "time" if is_ascending(state) else "-time", request.GET.get("sort", "")
    sort, whole = asked if asked in ("time", "-time") else first, {"time": first}

    def read(place: PagePosition, size: int) -> Page[MessageRow]:
        see, ascending = roles.may_here(request, "see_payloads"), not sort.startswith("-")
        return message_list.messages(
            head.numbers.queue_id, state, filter, place, size=size, with_payloads=see, ascending=ascending
        )

    listed = arrange_read(request, read, COLUMNS, sort, whole, kind="first" if is_ascending(state) else "newest")
    return replace(listed, page=masked.message_page(head.name, listed.page))


def _states(head: QueueHead, current: State) -> list[dict[str, Any]]:
    """List the states to choose from, each with its present count; completed messages have none."""
    return [
        {
            "label": label,
            "count": getattr(head.numbers, state.value, None),
            "url": f"{reverse('queue_messages', args=[head.name])}?state={state}",
            "current": state is current,
        }
        for state, label in LABELS.items()
    ]


def _bar(request: HttpRequest, head: QueueHead, state: State, mistake: FilterError | None) -> FilterBar:
    target = TARGETS[state]
    return FilterBar(
        text=typed(request),
        label=f"Filter {target.phrase}",
        action=reverse("queue_messages", args=[head.name]),
        placeholder="any word, or id: group: age: payload.path:",
        keys=suggestions(target, "queue", "tenant", "state"),  # the page has chosen a queue and a state
        example='payload.order.status:"paid" age:>1h',
        kept=[("state", state.value), *pagination.kept(request)],
        mistake=mistake,
        suggest_url=f"{reverse('filter_suggestions')}?{urlencode({'queue': head.name, 'state': state.value})}",
    )


@require_safe
@requires("see_metadata", of=QUEUE)
def show(request: HttpRequest, name: str, message_id: int) -> HttpResponse:
    """GET /queues/<name>/messages/<id>: the state, the events and the payload of a message."""
    head = queue_head.find(name)
    permission = "see_payloads" if roles.may_here(request, "see_payloads") else "see_metadata"
    story = known_story(request, head, message_id, permission)
    rules = masked.rules_of(story)
    fields = masked.hidden_fields(rules, story.body)
    denied = edit_denial(request, story, of_payload(fields)) if story.dead_letter else ""
    masked.conceal(story, rules)
    return _story_page(request, head, story, masked_fields=fields, edit_denied=denied)


@require_POST
@requires("reveal", of=QUEUE)
def reveal(request: HttpRequest, name: str, message_id: int) -> HttpResponse:
    """POST /queues/<name>/messages/<id>/reveal: the message with its masked fields, in this answer only."""
    form = ReasonForm(request.POST)
    if not form.is_valid():
        page, title = reverse("message", args=[name, message_id]), f"Reveal masked fields of message {message_id}"
        return refused.show(request, form, title=title, verb="Reveal once", page=page)
    head = queue_head.find(name)
    story = known_story(request, head, message_id, "reveal")
    fields = masked.hidden_fields(masked.rules_of(story), story.body)
    with transaction.atomic():  # nothing is revealed without an audit row
        details = {"message_id": message_id, "fields": fields}
        audit.record(request.user.get_username(), "message.reveal", head.queue, form.cleaned_data["reason"], details)
    return _story_page(request, head, story, revealed=fields)


def _story_page(
    request: HttpRequest,
    head: QueueHead,
    story: Story,
    *,
    masked_fields: Sequence[str] = (),
    edit_denied: str = "",
    revealed: Sequence[str] | None = None,
) -> HttpResponse:
    """Show the state, the events and the payload of a message; `revealed` are fields without a mask."""
    sidebar.light(request, "dead_letters" if story.dead_letter else "overview")
    context = {
        "title": f"Message {story.message_id}",
        "head": head,
        "story": story,
        "body": story.body,
        "payload_text": payloads.pretty(story.body.payload) if story.body else "",
        "bytes": payloads.bytes_of(story.body.payload, story.body.attributes) if story.body else None,
        "report": narration.report(story, datetime.now(UTC)),
        "events": narration.timeline(story),
        "masked_fields": masked_fields,
        "edit_denied": edit_denied,
        "is_scheduled": story.standing is Standing.SCHEDULED,
        "neighbours": neighbours_of(story.dead_letter) if story.dead_letter else None,
        "revealed": revealed,
    }
    return render_page(request, "messages/show.html", "messages/_story.html", context)


@require_safe
@requires("see_metadata", in_part=True)
def find(request: HttpRequest, message_id: int) -> HttpResponse:
    """GET /messages/<id>: redirect to the page of a message in its queue, for an id from a log line."""
    name = seen_queue(request, message_id)
    if name is None:
        raise Http404(f"Message {message_id} is not known: it never existed, or its retention ended.")
    return redirect("message", name, message_id)


def seen_queue(request: HttpRequest, message_id: int) -> str | None:
    """Return the queue of a message, if it is one that the person may see."""
    for name in queues_of(message_id):
        # A redirect to a queue that the person may not see would reveal its name.
        if not roles.is_scoped(request.user) or roles.may(request.user, "see_metadata", QUEUE.find(name=name)):
            return name
    return None


@require_http_methods(["GET", "HEAD", "POST"])
@requires("send", of=QUEUE)
def send(request: HttpRequest, name: str) -> HttpResponse:
    """GET, POST /queues/<name>/send: send one message by hand."""
    head = queue_head.find(name)
    form = SendForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with refusals(form):
            message_id = _send(request, head, form.cleaned_data)
            notices.success(request, f"Sent message {message_id} to {name}.")
            return redirect("message", name, message_id)
    context = {"title": f"Send · {name}", "head": head, "form": form}
    return render_form(request, "messages/send.html", context)


@transaction.atomic
def _send(request: HttpRequest, head: QueueHead, values: dict[str, Any]) -> int:
    """Send a message and record it in the audit, or do neither."""
    message_id = messages.send(head.name, **values)
    audit.record(request.user.get_username(), "message.send", head.queue, details={"message_id": message_id})
    return message_id


@require_safe
@requires("see_payloads", of=QUEUE)
def download_body(request: HttpRequest, name: str, message_id: int) -> HttpResponse:
    """GET /queues/<name>/messages/<id>/body: a large or binary payload as a file, if its hash is right."""
    head = queue_head.find(name)
    story = read_story(head.numbers, message_id, roles.reach(request.user, "see_payloads"))
    body = story.body
    is_binary = body is not None and binary.content_type_of(body.attributes) is not None
    if body is None or (body.large is None and not is_binary):
        raise Http404(f"Message {message_id} has no large body in {name}: it never had one, or its retention ended.")
    rules, filename = masked.rules_of(story), f"message-{message_id}"
    if body.large is not None:
        return large_body_file(body.large, body.attributes, rules, filename)
    return as_file(json.dumps(body.payload).encode(), body.attributes, rules, filename)
