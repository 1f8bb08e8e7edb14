"""The time of one scheduled message: run it now, or set another time."""

from __future__ import annotations

from datetime import UTC, datetime

from django import forms
from django.contrib import messages as notices
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from console.access.roles import requires
from console.access.subjects import QUEUE
from console.queues import head as queue_head
from console.web import refused_forms
from console.web.forms import ReasonForm, refusals
from console.web.wording import clock
from queues.messages.rescheduling import reschedule as set_due


class RescheduleForm(ReasonForm):
    """Another time for a scheduled message, in UTC, and why."""

    due = forms.DateTimeField(
        label="Due (UTC)",
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"],
        error_messages={"invalid": "Enter a date and a time in UTC, such as 2026-01-31 10:30."},
    )


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
    head, page = queue_head.find(name), reverse("message", args=[name, message_id])
    if form.is_valid():
        due, reason = form.cleaned_data.get("due"), form.cleaned_data["reason"]
        with refusals(form):
            due_at = set_due(head.queue, message_id, due, actor=request.user.get_username(), reason=reason)
            _announce(request, message_id, due_at)
            return redirect(page)
    return refused_forms.show(request, form, title=f"{verb}: message {message_id}", verb=verb, page=page)


def _announce(request: HttpRequest, message_id: int, due_at: datetime | None) -> None:
    if due_at is None:
        notices.warning(request, f"Nothing was changed: message {message_id} is not scheduled now.")
    elif due_at <= datetime.now(UTC):
        notices.success(request, f"Message {message_id} is due now.")
    else:
        notices.success(request, f"Message {message_id} is due at {clock(due_at)}.")
