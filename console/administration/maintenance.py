"""Pages of maintenance mode, which pauses changes and delivery in the whole installation, with a preview."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from django.views.decorators.http import require_POST, require_safe

from console.access import roles
from console.access.roles import requires
from console.overview import standings
from console.web.errors import views as error_views
from console.web.forms import refused
from console.web.forms.fields import reason_field, refusals, refuse, required_reason, tell
from console.web.htmx import render_page
from queues.control import maintenance
from queues.errors import InvalidArgument
from queues.models import Maintenance

# Allowed during maintenance: changes of one's own account, and deliveries from Alertmanager.
OWN = {"login", "login_code", "logout", "preferences", "account_password", "recovery_codes", "alerts_webhook"}
OWN |= {"second_factor", "second_factor_confirm", "second_factor_remove", "sign_on", "sign_on_again"}
RETRY_SECONDS = 60

# The expected duration -> minutes.
LENGTHS = {
    "15": "15 minutes",
    "30": "30 minutes",
    "60": "1 hour",
    "120": "2 hours",
    "240": "4 hours",
    "480": "8 hours",
    "1440": "1 day",
    "0": "unknown",
}


class MaintenanceForm(forms.Form):
    """The reason, the expected duration, and the parts to pause."""

    reason = required_reason("Shown on every page.")
    minutes = forms.ChoiceField(
        label="Expected duration",
        choices=list(LENGTHS.items()),
        initial="60",
        help_text="Shown to people and senders. Maintenance lasts until an administrator ends it.",
    )
    holds_claims = forms.BooleanField(
        label="Pause delivery",
        required=False,
        initial=True,
        help_text="Workers finish their messages and receive no more from any queue.",
    )
    refuses_sends = forms.BooleanField(
        label="Refuse sends",
        required=False,
        help_text="Senders get an error and must send again. Leave this off if they cannot.",
    )

    def until(self) -> datetime | None:
        """Return the announced end, counted from now."""
        minutes = int(self.cleaned_data["minutes"])
        return timezone.now() + timedelta(minutes=minutes) if minutes else None


class EndForm(forms.Form):
    """The result of the maintenance, for the audit."""

    reason = reason_field(label="Result")


@require_safe
@requires("maintain")
def show(request: HttpRequest) -> HttpResponse:
    """GET /maintenance: the state of maintenance mode, and the form that starts it."""
    return _answer(request, MaintenanceForm())


@require_safe
@requires("maintain")
def plan(request: HttpRequest) -> HttpResponse:
    """GET /maintenance/plan: preview what maintenance mode pauses."""
    form = MaintenanceForm(request.GET or None)
    if not form.is_valid():
        return _answer(request, form)
    context = {
        "title": "Maintenance mode: preview",
        "form": form,
        "given": form.cleaned_data,
        "until": form.until(),
        "kept": [(name, value) for name, value in form.data.items() if name in form.fields],
        "preview": maintenance.preview(),
        "standings": standings.snapshot(),
    }
    return render_page(
        request, "administration/maintenance/plan.html", "administration/maintenance/_effects.html", context
    )


@require_POST
@requires("maintain")
def begin(request: HttpRequest) -> HttpResponse:
    """POST /maintenance/begin: start maintenance mode."""
    form = MaintenanceForm(request.POST)
    if not form.is_valid():
        return _answer(request, form)
    given = {name: form.cleaned_data[name] for name in ("reason", "holds_claims", "refuses_sends")}
    try:
        maintenance.begin(actor=request.user.get_username(), until=form.until(), **given)
    except InvalidArgument as error:
        refuse(form, error)
        return _answer(request, form)
    standings.forget()
    messages.success(request, "Maintenance started. Every page shows a notice.")
    return redirect("maintenance")


@require_POST
@requires("maintain")
def end(request: HttpRequest) -> HttpResponse:
    """POST /maintenance/end: end maintenance mode; every queue returns to its state before."""
    form = EndForm(request.POST)
    if form.is_valid():
        with refusals(form):
            ended = maintenance.end(actor=request.user.get_username(), reason=form.cleaned_data["reason"])
            standings.forget()
            done = "Maintenance ended. Every queue has its earlier state."
            tell(request, ended is not None, done, "maintenance had ended already")
            return redirect("maintenance")
    page = reverse("maintenance")
    return refused.show(request, form, title="End maintenance", verb="End maintenance", page=page)


def _answer(request: HttpRequest, form: MaintenanceForm) -> HttpResponse:
    row = maintenance.current()
    context: dict[str, Any] = {"title": "Maintenance mode", "form": form, "row": row}
    if row is not None:
        context |= {"late": row.overdue(), "standings": standings.snapshot()}
    return render_page(
        request, "administration/maintenance/show.html", "administration/maintenance/_status.html", context
    )


class MaintenanceMiddleware(MiddlewareMixin):
    """Middleware that refuses changes during maintenance, before the password is asked for again."""

    def process_request(self, request: HttpRequest) -> None:
        """Let pages deny actions during maintenance, by a state that is at most a second old."""
        request.denied_by_maintenance = lambda: _denial(request, standings.snapshot().conditions.maintenance)  # type: ignore[attr-defined]

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *_: Any) -> HttpResponse | None:
        """Return None if the request may continue. A change costs one query, which reads the current state."""
        name = request.resolver_match.url_name if request.resolver_match else ""
        if request.method in error_views.SAFE_METHODS or name in OWN or not request.user.is_authenticated:
            return None
        if not (words := _denial(request, maintenance.current())):
            return None
        answer = error_views.in_maintenance(request, words)
        answer["Retry-After"] = str(RETRY_SECONDS)
        return answer


def _denial(request: HttpRequest, row: Maintenance | None) -> str:
    """Say why maintenance denies this person changes; empty if it does not."""
    if row is None or roles.may(request.user, "administer"):
        return ""
    return (
        f"Maintenance by {row.started_by}, {row.announced_end}: {row.reason} Until it ends, only administrators"
        " change anything."
    )
