"""Editing the payload of one dead letter: the form, and the redrive plan that shows the difference before it runs."""

from __future__ import annotations

from django import forms
from django.contrib import messages as notices
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from django.views.decorators.http import require_http_methods

from console.access import roles
from console.access.roles import requires
from console.access.subjects import QUEUE
from console.filters.filter_bar import job_filter
from console.masking import masked
from console.messages.stories import edit_denial, known_story, of_payload
from console.queues import head as queue_head
from console.queues.head import QueueHead
from console.web import sidebar
from console.web.forms import refused
from console.web.forms.fields import ReasonForm, refusals, required_reason
from console.web.htmx import render_form
from dlq.filters import FilterError
from dlq.redrives import editing, plans
from dlq.redrives.patching import INLINE_BYTES, DoesNotApply
from dlq.redrives.plan_models import Plan
from queues import audit
from queues.dead_letters import rows as dead_letter_rows
from queues.errors import InvalidArgument
from queues.messages.story import Story


class EditForm(forms.Form):
    """The edited payload of one dead letter, and why it is sent again."""

    payload = forms.CharField(
        max_length=INLINE_BYTES,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 18, "spellcheck": "false", "class": "mono"}),
        help_text="Any JSON value. The original payload is kept on the page of the message.",
    )
    reason = required_reason()
    version = forms.CharField(max_length=64, widget=forms.HiddenInput)

    def edited(self) -> object:
        """Read the typed payload. Raises `InvalidArgument` that names the line."""
        return editing.read(self.cleaned_data["payload"])


@require_http_methods(["GET", "HEAD", "POST"])
@requires("redrive", of=QUEUE)
def edit(request: HttpRequest, name: str, message_id: int) -> HttpResponse:
    """GET, POST /queues/<name>/messages/<id>/edit: the payload as JSON; a valid edit leads to its redrive plan."""
    sidebar.light(request, "dead_letters")
    head = queue_head.find(name)
    story = known_story(request, head, message_id, "see_payloads")
    fields = of_payload(masked.hidden_fields(masked.rules_of(story), story.body))
    if denial := edit_denial(request, story, fields):
        raise PermissionDenied(denial)
    try:
        text = _payload_text(story)
        original = editing.shown(text)
    except (DoesNotApply, InvalidArgument) as error:
        return _unchangeable(request, name, message_id, f"Message {message_id} cannot be edited: {error}.")
    if fields and "payload" not in request.POST:
        return _reveal(request, head, story, fields, _initial(text, original))
    form = EditForm(request.POST if request.method == "POST" else None, initial=_initial(text, original))
    if form.is_valid():
        with refusals(form):
            return redirect("redrive_plan", _make(request, story, form, text).pk)
    return _page(request, head, story, form=form)


def _unchangeable(request: HttpRequest, name: str, message_id: int, why: str) -> HttpResponse:
    """Say why the message cannot be edited: on its page, or above the edit that was sent."""
    page, form = reverse("message", args=[name, message_id]), EditForm(request.POST)
    if "payload" in request.POST:
        form.add_error(None, why)
        return refused.show(request, form, title=f"Edit message {message_id}", verb="Preview changes", page=page)
    notices.error(request, why)
    return redirect(page)


def _payload_text(story: Story) -> str:
    """Return the payload of the dead letter as stored. Raises `InvalidArgument` where there is none to edit."""
    if story.dead_letter is None:
        raise InvalidArgument("only a dead letter can be edited, and it is not one now")
    [row] = dead_letter_rows.whole([story.dead_letter.pk], ["payload"]) or [{"payload": None}]
    if row["payload"] is None:
        raise InvalidArgument("its payload is in the large-body store")
    return str(row["payload"])


def _reveal(
    request: HttpRequest, head: QueueHead, story: Story, fields: list[str], initial: dict[str, str]
) -> HttpResponse:
    """Ask for the reason to reveal masked fields; with a reason, record it and show the form."""
    asked = ReasonForm(request.POST if request.method == "POST" else None)
    if not asked.is_valid():
        return _page(request, head, story, reveal_form=asked, masked_fields=fields)
    reason = asked.cleaned_data["reason"]
    with transaction.atomic():  # nothing is revealed without an audit row
        details = {"message_id": story.message_id, "fields": fields}
        audit.record(request.user.get_username(), "message.reveal", head.queue, reason, details)
    form = EditForm(initial={**initial, "reason": reason})
    return _page(request, head, story, form=form, masked_fields=fields)


def _initial(text: str, original: str) -> dict[str, str]:
    return {"payload": original, "version": _version(text)}


def _version(text: str) -> str:
    """Return a keyed hash of the payload, so that an edit of an older payload is refused."""
    return salted_hmac("console.messages.edit", text).hexdigest()


def _make(request: HttpRequest, story: Story, form: EditForm, text: str) -> Plan:
    """Write the plan that redrives this message with the edited payload."""
    if not constant_time_compare(form.cleaned_data["version"], _version(text)):
        raise InvalidArgument(
            "The payload has changed since this page was opened. Open the page again and redo the edit."
        )
    options = editing.options(text, form.edited())
    try:
        filter = job_filter(request, f"id:{story.message_id}", "redrive")
    except FilterError as error:
        raise InvalidArgument(error.message) from error
    actor, may_reveal = request.user.get_username(), roles.may_here(request, "reveal")
    return plans.make(filter, actor=actor, reason=form.cleaned_data["reason"], options=options, may_reveal=may_reveal)


def _page(request: HttpRequest, head: QueueHead, story: Story, **parts: object) -> HttpResponse:
    context = {"title": f"Edit message {story.message_id}", "head": head, "story": story, **parts}
    return render_form(request, "messages/edit.html", context)
