"""The time of scheduled messages: run them now, or set another time; one from its page, several from the list."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.contrib import messages as notices
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from console.access.roles import requires
from console.access.subjects import QUEUE
from console.filters.filter_bar import message_filter
from console.filters.moments import MomentField
from console.queues import head as queue_head
from console.queues.head import QueueHead
from console.web import sidebar
from console.web.forms import refused
from console.web.forms.fields import ReasonForm, refusals
from console.web.htmx import render_form
from console.web.wording import clock, plural
from dlq.filters import FilterError
from dlq.search import message_list
from queues.messages.lists import State
from queues.messages.rescheduling import MAX_AT_ONCE, reschedule_all, scheduled_among
from queues.messages.rescheduling import reschedule as set_due

MAX_SHOWN = 10
HEADINGS = {"Run now": "Run {} now", "Reschedule": "Reschedule {}"}


def _due_field() -> MomentField:
    return MomentField(
        label="Due", required=True, help_text="At most a year from now. A time in the past makes a message due now."
    )


class RescheduleForm(ReasonForm):
    """Another time for a scheduled message, and why."""

    field_order = ("due", "reason")
    due = _due_field()


class RunAllForm(ReasonForm):
    """The selected scheduled messages, and why they run now."""

    ids = forms.CharField(max_length=20 * MAX_AT_ONCE, widget=forms.HiddenInput)

    def clean_ids(self) -> list[int]:
        """Read the numbers that the preview wrote."""
        return _numbers(self.cleaned_data["ids"].split())


class RescheduleAllForm(RunAllForm):
    """The selected scheduled messages, their new time, and why."""

    field_order = ("due", "reason")
    due = _due_field()


@require_POST
@requires("redrive", of=QUEUE)
def reschedule(request: HttpRequest, name: str, message_id: int) -> HttpResponse:
    """POST /queues/<name>/messages/<id>/reschedule: another time at which the scheduled message becomes ready."""
    return _change(request, name, message_id, RescheduleForm(request.POST), "Reschedule")


@require_POST
@requires("redrive", of=QUEUE)
def run_now(request: HttpRequest, name: str, message_id: int) -> HttpResponse:
    """POST /queues/<name>/messages/<id>/run-now: the scheduled message becomes ready now."""
    return _change(request, name, message_id, ReasonForm(request.POST), "Run now")


def _change(request: HttpRequest, name: str, message_id: int, form: ReasonForm, verb: str) -> HttpResponse:
    sidebar.light(request, "overview")
    head, page = queue_head.find(name), reverse("message", args=[name, message_id])
    if form.is_valid():
        due, reason = form.cleaned_data.get("due"), form.cleaned_data["reason"]
        with refusals(form):
            due_at = set_due(head.queue, message_id, due, actor=request.user.get_username(), reason=reason)
            _announce(request, message_id, due_at)
            return redirect(page)
    return refused.show(request, form, title=f"{verb}: message {message_id}", verb=verb, page=page)


def _announce(request: HttpRequest, message_id: int, due_at: datetime | None) -> None:
    if due_at is None:
        notices.warning(request, f"Nothing was changed: message {message_id} is not scheduled now.")
    elif due_at <= datetime.now(UTC):
        notices.success(request, f"Message {message_id} is due now.")
    else:
        notices.success(request, f"Message {message_id} is due at {clock(due_at)}.")


@require_http_methods(["GET", "HEAD", "POST"])
@requires("redrive", of=QUEUE)
def run_all_now(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/run-now?id= or ?q=: preview which scheduled messages become ready. POST: run them now."""
    return _change_all(request, name, RunAllForm, "Run now")


@require_http_methods(["GET", "HEAD", "POST"])
@requires("redrive", of=QUEUE)
def reschedule_several(request: HttpRequest, name: str) -> HttpResponse:
    """GET /queues/<name>/reschedule?id= or ?q=: preview which messages get another time. POST: set it."""
    return _change_all(request, name, RescheduleAllForm, "Reschedule")


def _change_all(request: HttpRequest, name: str, kind: type[RunAllForm], verb: str) -> HttpResponse:
    head = queue_head.find(name)
    form = kind(request.POST if request.method == "POST" else None)
    if form.is_valid():
        given = form.cleaned_data
        with refusals(form):
            actor, reason = request.user.get_username(), given["reason"]
            changed = reschedule_all(head.queue, given["ids"], given.get("due"), actor=actor, reason=reason)
            _announce_all(request, len(changed), len(given["ids"]), given.get("due"))
            return redirect(f"{reverse('queue_messages', args=[name])}?state=scheduled")
    return render_form(request, "messages/reschedule.html", _preview(request, head, form, verb))


def _announce_all(request: HttpRequest, changed: int, asked: int, due: datetime | None) -> None:
    words = "due now" if due is None or due <= datetime.now(UTC) else f"due at {clock(due)}"
    notices.success(request, f"{plural(changed, 'message')} {'is' if changed == 1 else 'are'} {words}.")
    if left := asked - changed:
        notices.warning(request, f"{plural(left, 'message')} had left the schedule before.")


def _preview(request: HttpRequest, head: QueueHead, form: RunAllForm, verb: str) -> dict[str, Any]:
    """Return what the page shows: the messages of the sent form, of the selection, or of the filter."""
    mistake = None
    try:
        ids = _numbers((form["ids"].value() or "").split()) if form.is_bound else _selected(request, head)
    except FilterError as error:
        ids, mistake = [], error
    found = scheduled_among(head.queue, ids)
    return {
        "title": f"{verb} · {head.name}",
        "heading": HEADINGS[verb].format(plural(len(found), "scheduled message")),
        "verb": verb,
        "head": head,
        "tab": "messages",
        "form": form,
        "mistake": mistake,
        "found": found,
        "shown": found[:MAX_SHOWN],
        "ids": " ".join(str(message_id) for message_id, _ in found),
        "is_cut": len(ids) >= MAX_AT_ONCE,
        "most": MAX_AT_ONCE,
    }


def _selected(request: HttpRequest, head: QueueHead) -> Sequence[int]:
    """Return the selected messages; without a selection those of the filter, the earliest first."""
    if "id" in request.GET:
        return _numbers(request.GET.getlist("id"))
    filter = message_filter(request, request.GET.get("q", ""), head.name, message_list.TARGETS[State.SCHEDULED])
    page = message_list.messages(
        head.numbers.queue_id, State.SCHEDULED, filter, size=MAX_AT_ONCE, with_payloads=False, ascending=True
    )
    return [row.message_id for row in page.rows]


def _numbers(given: Sequence[str]) -> list[int]:
    """Read message ids; any other text names no message."""
    return [int(text) for text in given[:MAX_AT_ONCE] if text.isascii() and text.isdigit() and len(text) < 19]
