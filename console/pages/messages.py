"""Messages: browsing a queue in any state, one message's whole story, and sending one by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages as notices
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from console import keyset, masked, message_life, message_story, message_waits, payloads, queue_head, roles
from console.filterbar import FilterBar, Suggestion, readable_filter, saved, typed
from console.forms import SendForm
from console.frame import Frame
from console.htmx import render_page
from console.queue_head import QueueHead
from console.roles import requires
from console.subjects import QUEUE
from console.wording import number
from dlq import browse as lists
from dlq.browse import MessageRow, Page, State
from dlq.export_rows import TARGETS
from dlq.filters import KEYS, Filter, FilterError, Target
from dlq.saved_filters import SavedFilter
from queues import audit, messages
from queues.errors import SignalboxError
from queues.models import DeadLetter, Failure, Lease, Redriven, ScheduledTicket, Trashed

LABELS = {
    State.READY: "Ready",
    State.LEASED: "In flight",
    State.SCHEDULED: "Scheduled",
    State.WAITING: "Waiting in lanes",
    State.COMPLETED: "Completed",
}


@require_safe
@requires("see_metadata", of=QUEUE)
def browse(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/messages: the messages of one state that the filter selects, a page at a time."""
    head = queue_head.find(name)
    asked = request.GET.get("state", "")
    state = State(asked) if asked in set(State) else State.READY
    mistake = None
    try:
        page = _page(request, head, state, readable_filter(typed(request), request, name))
    except FilterError as error:
        mistake = error
        page = _page(request, head, state, Filter())
    context = {
        "title": f"Messages · {name}",
        "head": head,
        "tab": "messages",
        "state": state.value,
        "state_label": LABELS[state],
        "states": _states(head, state),
        "page": page,
        "bar": _bar(request, head, state, mistake),
        "saved": saved(request, SavedFilter.Page.MESSAGES, f"{_address(head)}?state={state}&q="),
        "pager": keyset.pager(request, page, f"{number(len(page.rows))} shown"),
        "export_url": f"{reverse('export_messages', args=[name])}?{urlencode({'state': state, 'q': typed(request)})}",
    }
    return render_page(request, "messages/browse.html", "messages/_list.html", context)


def _page(request: HttpRequest, head: QueueHead, state: State, chosen: Filter) -> Page[MessageRow]:
    see = roles.may_here(request, "see_payloads")
    page = lists.messages(head.numbers.queue_id, state, chosen, keyset.place(request), with_payloads=see)
    return masked.message_page(head.name, page)


def _states(head: QueueHead, current: State) -> list[dict[str, Any]]:
    """The states to choose from, each with its live count; the completed are history and have none."""
    numbers = head.numbers
    counts = {
        State.READY: numbers.ready,
        State.LEASED: numbers.leased,
        State.SCHEDULED: numbers.scheduled,
        State.WAITING: numbers.waiting,
    }
    return [
        {
            "label": label,
            "count": counts.get(state),
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
        placeholder="id: group: age: payload.path: attr.path:",
        keys=_suggestions(target),
        example='payload.order.status:"paid" age:>1h',
        kept=[("state", state.value)],
        mistake=mistake,
        suggest_url=f"{reverse('filter_suggestions')}?{urlencode({'queue': head.name, 'state': state.value})}",
    )


def _address(head: QueueHead) -> str:
    return reverse("queue_messages", args=[head.name])


def _suggestions(target: Target) -> list[Suggestion]:
    """The keys that make sense here: a queue and a state are chosen already."""
    return [
        Suggestion(f"{key.name}." if key.takes_path else f"{key.name}:", key.help)
        for key in KEYS.values()
        if target in key.targets and key.name not in {"queue", "tenant", "state"}
    ]


@require_safe
@requires("see_metadata", of=QUEUE)
def show(request: HttpRequest, name: str, message_id: int) -> HttpResponse:
    """GET /queues/<name>/messages/<id>: where it stands, what happened, what it holds."""
    head = queue_head.find(name)
    told = "see_payloads" if roles.may_here(request, "see_payloads") else "see_metadata"
    story = message_story.tell(head.numbers, message_id, roles.reach(request.user, told))
    if not story.known:
        raise Http404(f"Message {message_id} is not known in {name}: it never was, or its retention is over.")
    rules = masked.rules_of(story)
    fields = masked.hidden_fields(rules, story.body)
    masked.conceal(story, rules)
    now = datetime.now(UTC)
    icon, sentence = message_life.place(story, now)
    body = story.body
    context = {
        "title": f"Message {message_id}",
        "head": head,
        "story": story,
        "body": body,
        "payload_text": payloads.pretty(body.payload) if body else "",
        "place_icon": icon,
        "place": sentence,
        "waits": message_waits.waits(story, now),
        "events": message_life.timeline(story),
        "masked_fields": fields,
        "revealed": None,
    }
    return render_page(request, "messages/show.html", "messages/_story.html", context)


@require_safe
@requires("see_metadata", in_part=True)
def find(request: HttpRequest, message_id: int) -> HttpResponse:
    """GET /messages/<id>: the page of a message whose queue one does not know, as in a log line."""
    for model, column in (
        (Lease, "queue__name"),
        (ScheduledTicket, "queue__name"),
        (DeadLetter, "source__name"),
        (Failure, "queue__name"),
        (Redriven, "queue__name"),
        (Trashed, "queue__name"),
    ):
        name = model.objects.filter(message_id=message_id).values_list(column, flat=True).first()
        if name and _is_seen(request, name):
            return redirect("message", name, message_id)
    if (name := message_story.queue_of(message_id)) and _is_seen(request, name):
        return redirect("message", name, message_id)
    raise Http404(f"Message {message_id} is not known: it never was, or its retention is over.")


def _is_seen(request: HttpRequest, name: str) -> bool:
    """Whether the queue's name is no news to the person."""
    return not roles.is_scoped(request.user) or roles.may(request.user, "see_metadata", QUEUE.find(name=name))


@require_http_methods(["GET", "HEAD", "POST"])
@requires("redrive", of=QUEUE)
def send(request: HttpRequest, name: str) -> HttpResponse:
    """GET, POST /queues/<name>/send: one message by hand."""
    head = queue_head.find(name)
    form = SendForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            message_id = _send(request, head, form.cleaned_data)
        except SignalboxError as error:
            field = getattr(error, "field", None)
            form.add_error(field if field in form.fields else None, str(error))
        else:
            notices.success(request, f"Sent message {message_id} to {name}.")
            return redirect("message", name, message_id)
    context = {"title": f"Send · {name}", "head": head, "form": form, "frame": Frame(request)}
    return render(request, "messages/send.html", context, status=422 if form.errors else 200)


@transaction.atomic
def _send(request: HttpRequest, head: QueueHead, values: dict[str, Any]) -> int:
    """Send, and say so in the audit, or neither."""
    message_id = messages.send(
        head.name,
        values["payload"],
        attributes=values["attributes"],
        priority=values["priority"],
        delay_seconds=values["delay_seconds"],
        group_id=values["group_id"] or None,
        deduplication_id=values["deduplication_id"] or None,
    )
    audit.record(request.user.get_username(), "message.send", head.queue, details={"message_id": message_id})
    return message_id
