"""Under maintenance everybody looks, and administrators alone change anything: enforced before any view runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from console import conditions, fleet, roles
from console.pages import errors
from queues import maintenance
from queues.maintenance.models import Maintenance

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
# What a person does about themselves, and what Alertmanager tells.
OWN = {
    "login",
    "login_code",
    "logout",
    "preferences",
    "account_password",
    "recovery_codes",
    "second_factor",
    "second_factor_confirm",
    "second_factor_remove",
    "sign_on",
    "sign_on_again",
    "alerts_webhook",
}
RETRY_SECONDS = 60

View = Callable[..., Any]


class MaintenanceMiddleware(MiddlewareMixin):
    """Stands before the question for the password: nobody is asked for one in vain."""

    def process_request(self, request: HttpRequest) -> None:
        """What is denied on pages is denied by the state of a second ago, which all pages share."""
        request.denied_by_maintenance = lambda: _denial(request, fleet.snapshot().conditions.maintenance)  # type: ignore[attr-defined]

    def process_view(self, request: HttpRequest, view: View, *_: Any) -> HttpResponse | None:
        """None lets the request go on. What would change something asks for the state as it is now: one query."""
        name = request.resolver_match.url_name if request.resolver_match else ""
        if request.method in SAFE_METHODS or name in OWN or not request.user.is_authenticated:
            return None
        row = maintenance.current()
        words = _denial(request, row)
        return _refuse(request, words) if words else None


def _denial(request: HttpRequest, row: Maintenance | None) -> str:
    """Why this person changes nothing now; empty when they may."""
    if row is None or roles.may(request.user, "administer"):
        return ""
    return (
        f"Maintenance by {row.started_by}, {conditions.until_when(row)}: {row.reason} Meanwhile only administrators"
        " change anything."
    )


def _refuse(request: HttpRequest, words: str) -> HttpResponse:
    answer = errors.in_maintenance(request, words)
    answer["Retry-After"] = str(RETRY_SECONDS)
    return answer
