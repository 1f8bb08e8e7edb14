"""Silences: which alerts nobody is told of for a while, and who wanted that."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from console import alert_lines, roles
from console.alert_forms import SilenceForm
from console.alert_lines import Line
from console.htmx import render_page
from console.roles import requires
from console.subjects import SILENCE, SilencePattern
from metrics.alerts import episodes, silences
from metrics.alerts.models import Silence
from queues.errors import InvalidArgument


@require_http_methods(["GET", "HEAD", "POST"])
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /alerts/silences: those that hold, and what the one in the address would match. POST: that, or one more."""
    preview = "preview" in request.POST
    asked = request.POST if preview else request.GET
    form = SilenceForm(request.POST if request.method == "POST" and not preview else None, initial=_asked(asked))
    if request.method == "POST":
        roles.check_here(request, "silence")
        if not preview and form.is_valid() and _create(request, form):
            return redirect("silences")
    context = {
        "title": "Silences",
        "silences": [(one, _objection(request, one.queue_pattern)) for one in _seen(request)],
        "form": form,
        "matching": _matching(request, form),
    }
    status = 422 if form.errors else 200
    return render_page(request, "alerts/silences.html", "alerts/_silences.html", context, status=status)


@require_POST
@requires("silence", of=SILENCE)
def end(request: HttpRequest, silence_id: int) -> HttpResponse:
    """POST /alerts/silences/<id>/end: people are told again."""
    if silences.end(silence_id, actor=request.user.get_username()):
        messages.success(request, "The silence is over.")
    else:
        messages.warning(request, "Nothing was changed: this silence is over already.")
    return redirect("silences")


def _asked(given: QueryDict) -> dict[str, str]:
    """What the line of an alert suggests, or what was typed before its matches were asked for."""
    return {name: given[name][:500] for name in SilenceForm.base_fields if name in given}


def _create(request: HttpRequest, form: SilenceForm) -> bool:
    given = form.cleaned_data
    if _objection(request, given["queue"]):
        form.add_error("queue", "Name one of your queues: your role may not silence all that this fits.")
        return False
    try:
        silence = silences.create(
            alert=given["alert"],
            queue=given["queue"],
            ends_at=form.ends_at(),
            comment=given["comment"],
            actor=request.user.get_username(),
        )
    except InvalidArgument as error:
        form.add_error(error.field if error.field in form.fields else None, str(error))
        return False
    messages.success(request, f"{silence} is silenced.")
    return True


def _seen(request: HttpRequest) -> list[Silence]:
    """Those of queues that the person sees, all of them."""
    reach = roles.reach(request.user, "see_metadata")
    return [one for one in silences.active() if SilencePattern(one.queue_pattern).is_within(reach)]


def _objection(request: HttpRequest, queue_pattern: str) -> str:
    """Why this person may not silence what the pattern fits; empty when they may."""
    return roles.denial(request.user, "silence", SilencePattern(queue_pattern))


def _matching(request: HttpRequest, form: SilenceForm) -> Sequence[Line] | None:
    """What fires now that the form as it stands would silence; None where it names nothing that can be."""
    alert, queue = (str(form[name].value() or "") for name in ("alert", "queue"))
    try:
        silences.check(alert=alert, queue=queue)
    except InvalidArgument:
        return None
    firing = episodes.firing(among=alert_lines.alerts_within(roles.reach(request.user, "see_metadata")))
    return alert_lines.lines(
        episode for episode in firing if any(silences.matches(alert, queue, one) for one in episode.alerts)
    )
