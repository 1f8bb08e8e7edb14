"""Silences: a page that lists them, a form that creates one, and a button that ends one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from console.access import roles, suggestions
from console.access.roles import requires
from console.access.subjects import SILENCE, SilencePattern
from console.alerts import causes
from console.alerts import lines as alert_lines
from console.alerts.causes import Cause
from console.web.forms.fields import refusals, required_reason, suggest, tell
from console.web.htmx import render_page
from console.web.sorting import Columns, arrange
from metrics.alerts import alert_list, silences
from metrics.alerts.models import Silence
from queues.errors import InvalidArgument

# Hours -> words; MAX_DURATION of metrics.alerts.silences is the longest.
LENGTHS = {
    "1": "1 hour",
    "4": "4 hours",
    "12": "12 hours",
    "24": "1 day",
    "72": "3 days",
    "168": "1 week",
    "720": "30 days",
}


COLUMNS: Columns[Silence] = {
    "alert": lambda silence: silence.alert_pattern,
    "queue": lambda silence: silence.queue_pattern,
    "reason": lambda silence: silence.comment,
    "by": lambda silence: silence.created_by,
    "ends": lambda silence: silence.ends_at,
}


class SilenceForm(forms.Form):
    """A silence: the alerts, the queues, the length and the reason."""

    alert = forms.CharField(
        max_length=200, required=False, help_text="Exact name or pattern (*). Leave empty for all alerts."
    )
    queue = forms.CharField(
        max_length=100, required=False, help_text="Exact name or pattern (*). Leave empty for all queues."
    )
    hours = forms.ChoiceField(label="For", choices=list(LENGTHS.items()), initial="4")
    comment = required_reason("Recorded in the audit and shown with the alert.", label="Reason")

    def ends_at(self) -> datetime:
        """Return the end of a silence that begins now, one second early, so that the longest is allowed."""
        return timezone.now() + timedelta(hours=int(self.cleaned_data["hours"])) - timedelta(seconds=1)


@require_http_methods(["GET", "HEAD", "POST"])
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /alerts/silences: active silences, and the alerts that the form matches. POST: a preview, or a new one."""
    preview = "preview" in request.POST
    # The values that an alert's row suggests, or the values typed before the preview.
    given = request.POST if preview else request.GET
    asked = {name: str(given[name])[:500] for name in SilenceForm.base_fields if name in given}
    form = SilenceForm(request.POST if request.method == "POST" and not preview else None, initial=asked)
    suggest(form, queue=suggestions.queue_names(request, "silence"))
    if request.method == "POST":
        roles.check_here(request, "silence")
        if not preview and form.is_valid():
            with refusals(form):
                _create(request, form)
                return redirect("silences")
    reach = roles.reach(request.user, "see_metadata")
    seen = [one for one in silences.active() if SilencePattern(one.queue_pattern).is_within(reach)]
    shown = arrange(request, seen, COLUMNS)
    context = {
        "title": "Silences",
        "silences": [(one, _objection(request, one.queue_pattern)) for one in shown.rows],
        "sort": shown.links,
        "form": form,
        "matching": _matching(request, form),
    }
    return render_page(request, "alerts/silences.html", "alerts/_silences.html", context)


@require_POST
@requires("silence", of=SILENCE)
def end(request: HttpRequest, silence_id: int) -> HttpResponse:
    """POST /alerts/silences/<id>/end: end a silence, so that notifications are sent again."""
    ended = silences.end(silence_id, actor=request.user.get_username())
    tell(request, ended, "The silence ended.", "this silence had ended already")
    return redirect("silences")


def _create(request: HttpRequest, form: SilenceForm) -> None:
    alert, queue, comment = (form.cleaned_data[name] for name in ("alert", "queue", "comment"))
    if _objection(request, queue):
        raise InvalidArgument(
            "Name one of your queues: your role may not silence every queue that this pattern matches.", "queue"
        )
    actor = request.user.get_username()
    silence = silences.create(alert=alert, queue=queue, ends_at=form.ends_at(), comment=comment, actor=actor)
    messages.success(request, f"Silenced {silence}.")


def _objection(request: HttpRequest, queue_pattern: str) -> str:
    """Say why this person may not silence the queues that match the pattern; empty if they may."""
    return roles.denial(request.user, "silence", SilencePattern(queue_pattern))


def _matching(request: HttpRequest, form: SilenceForm) -> Sequence[Cause] | None:
    """List the firing alerts that the form would silence; None if its patterns are not valid."""
    alert, queue = (str(form[name].value() or "") for name in ("alert", "queue"))
    try:
        silences.check(alert=alert, queue=queue)
    except InvalidArgument:
        return None
    firing = alert_list.firing(among=alert_lines.alerts_within(roles.reach(request.user, "see_metadata")))
    matching = [each for each in firing if any(silences.matches(alert, queue, one) for one in each.alerts)]
    return causes.group(alert_lines.lines(matching))
