"""Maintenance: holding the whole installation still, with a look at what that does before it is done."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from console import fleet
from console.forms import ReasonForm
from console.htmx import render_page
from console.maintenance_form import MaintenanceForm
from console.roles import requires
from queues import maintenance
from queues.errors import InvalidArgument

FIRST = {"minutes": "60", "holds_claims": True}


@require_safe
@requires("administer")
def show(request: HttpRequest) -> HttpResponse:
    """GET /maintenance: whether it is on, and the form that begins it."""
    return _answer(request, MaintenanceForm(initial=FIRST))


@require_safe
@requires("administer")
def plan(request: HttpRequest) -> HttpResponse:
    """GET /maintenance/plan: what it would hold, before it begins."""
    form = MaintenanceForm(request.GET) if request.GET else MaintenanceForm(initial=FIRST)
    if not form.is_bound:
        return _answer(request, form)
    if not form.is_valid():
        return _answer(request, form, status=422)
    context = {
        "title": "Maintenance: what it does",
        "form": form,
        "given": form.cleaned_data,
        "until": form.until(),
        "kept": [(name, value) for name, value in form.data.items() if name in form.fields],
        "preview": maintenance.preview(),
        "fleet": fleet.snapshot(),
    }
    return render_page(request, "maintenance/plan.html", "maintenance/_effects.html", context)


@require_POST
@requires("administer")
def begin(request: HttpRequest) -> HttpResponse:
    """POST /maintenance/begin: from now on."""
    form = MaintenanceForm(request.POST)
    if not form.is_valid():
        return _answer(request, form, status=422)
    given = form.cleaned_data
    try:
        maintenance.begin(
            actor=request.user.get_username(),
            reason=given["reason"],
            until=form.until(),
            holds_claims=given["holds_claims"],
            refuses_sends=given["refuses_sends"],
        )
    except InvalidArgument as error:
        form.add_error(error.field if error.field in form.fields else None, str(error))
        return _answer(request, form, status=422)
    fleet.forget()
    messages.success(request, "Maintenance has begun: the head of every page says so.")
    return redirect("maintenance")


@require_POST
@requires("administer")
def end(request: HttpRequest) -> HttpResponse:
    """POST /maintenance/end: every queue goes on as it was."""
    form = ReasonForm(request.POST)
    form.fields["reason"].required = False
    reason = form.cleaned_data["reason"] if form.is_valid() else ""
    try:
        ended = maintenance.end(actor=request.user.get_username(), reason=reason)
    except InvalidArgument as error:
        messages.error(request, f"Nothing was changed: {error}")
        return redirect("maintenance")
    fleet.forget()
    if ended is None:
        messages.warning(request, "There was no maintenance: somebody else has ended it.")
    else:
        messages.success(request, "Maintenance has ended: every queue goes on as it was.")
    return redirect("maintenance")


def _answer(request: HttpRequest, form: MaintenanceForm, *, status: int = 200) -> HttpResponse:
    row = maintenance.current()
    context: dict[str, Any] = {"title": "Maintenance", "form": form, "row": row}
    if row is not None:
        context |= {"late": row.overdue(), "fleet": fleet.snapshot()}
    return render_page(request, "maintenance/show.html", "maintenance/_now.html", context, status=status)
