"""Page of a redrive over cells: its parts as each cell has them, and the verbs that concern all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from console.access import roles
from console.access.roles import requires
from console.web.forms.fields import refusals
from console.web.htmx import render_page
from dlq.jobs import confirmations
from dlq.jobs.models import Job, Redrive
from dlq.redrives import redrives
from dlq.redrives.fleet import parts as over_cells
from dlq.redrives.fleet.models import FleetRedrive
from dlq.redrives.fleet.parts import STARTABLE, Part
from queues.errors import InvalidArgument

TONES = {"done": "ok", "silent": "bad", "failed": "bad", "paused": "warn", "running": "accent", "pending": "accent"}


class RunForm(forms.Form):
    """The run of a redrive over cells; a large one is confirmed by a typed word."""

    confirmation = forms.CharField(max_length=20, required=False)


@dataclass(frozen=True)
class PartLine:
    """One part as the table shows it."""

    part: Part
    tone: str


@require_safe
@requires("see_metadata")
def show(request: HttpRequest, fleet_redrive_id: int) -> HttpResponse:
    """GET /fleet/redrives/<id>: the parts, their progress and outcomes."""
    redrive = _find(fleet_redrive_id)
    return _show(request, redrive, over_cells.look(redrive), RunForm())


@require_POST
@requires("redrive")
def run(request: HttpRequest, fleet_redrive_id: int) -> HttpResponse:
    """POST /fleet/redrives/<id>/run: start the parts that have not run."""
    redrive, form = _find(fleet_redrive_id), RunForm(request.POST)
    parts = over_cells.look(redrive)
    if form.is_valid():
        with refusals(form):
            _check_confirmed(parts, form.cleaned_data["confirmation"])
            actor, may_reveal = request.user.get_username(), roles.may_here(request, "reveal")
            _tell(request, over_cells.run(redrive, actor=actor, may_reveal=may_reveal), "started")
            return redirect("fleet_redrive", redrive.pk)
    return _show(request, redrive, parts, form)


@require_POST
@requires("redrive")
def change(request: HttpRequest, fleet_redrive_id: int, verb: str) -> HttpResponse:
    """POST /fleet/redrives/<id>/pause, resume or cancel: change every part."""
    redrive = _find(fleet_redrive_id)
    try:
        _tell(request, over_cells.change(redrive, verb, actor=request.user.get_username()), "changed")
    except InvalidArgument as refusal:
        messages.warning(request, f"Nothing was changed: {refusal}.")
    return redirect("fleet_redrive", redrive.pk)


def _tell(request: HttpRequest, parts: Sequence[Part], done: str) -> None:
    """Say which parts could not be reached or were refused."""
    for part in parts:
        if part.error:
            messages.warning(request, f"{part.cell} was not {done}: {part.error}")
    if not all(part.error for part in parts):
        messages.success(request, f"The other parts are {done}." if any(p.error for p in parts) else f"Parts {done}.")


def _check_confirmed(parts: Sequence[Part], word: str) -> None:
    if _must_confirm(parts) and word.strip().lower() != redrives.CONFIRMATION_WORD:
        raise InvalidArgument(f"Type the word {redrives.CONFIRMATION_WORD}.", "confirmation")


def _must_confirm(parts: Sequence[Part]) -> bool:
    """Return whether the parts that would start have, together, as many messages as need a typed word."""
    plans = [part.plan for part in _startable(parts) if part.plan]
    exact = all(plan.count_is_exact for plan in plans)
    return bool(plans) and confirmations.asks(Redrive.NOUN, sum(plan.count for plan in plans), exact=exact)


def _startable(parts: Sequence[Part]) -> list[Part]:
    return [part for part in parts if not part.error and (part.job.state if part.job else None) in STARTABLE]


def _show(request: HttpRequest, redrive: FleetRedrive, parts: Sequence[Part], form: RunForm) -> HttpResponse:
    states = {part.state for part in parts}
    jobs = [part.job for part in parts if part.job]
    context: dict[str, Any] = {
        "title": f"Redrive {redrive.pk} over cells",
        "redrive": redrive,
        "lines": [PartLine(part, TONES.get(part.state, "")) for part in parts],
        "planned": sum(part.plan.count for part in parts if part.plan),
        "moved": sum(job.moved for job in jobs),
        "succeeded": sum(job.succeeded for job in jobs),
        "failed": sum(job.failed for job in jobs),
        "form": form,
        "startable": bool(_startable(parts)),
        "confirmation_word": redrives.CONFIRMATION_WORD if _must_confirm(parts) else "",
        "runs": bool(states & {*Job.RUNNABLE_STATES}),
        "paused": Job.State.PAUSED in states,
        "is_active": any(job.is_active or job.is_awaiting for job in jobs),
    }
    return render_page(request, "fleet/redrive.html", "fleet/_redrive.html", context)


def _find(fleet_redrive_id: int) -> FleetRedrive:
    found = FleetRedrive.objects.filter(pk=fleet_redrive_id).first()
    if found is None:
        raise Http404(f"There is no redrive {fleet_redrive_id} over cells.")
    return found
