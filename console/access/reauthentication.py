"""Reauthentication: purges, configuration and changes of rights ask for the password again.

A stolen or abandoned session can read, but cannot do these. The page that asks keeps the form that was sent, and
submits it after the right password; secrets must be typed again. A person without a password gives a code of the second
factor, or logs in again at the provider.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from console.access import kept_forms, lockout, second_factor
from console.access.sign_on import admission, provider
from console.web.htmx import render_form
from console.web.layout import bare_frame

PERMISSIONS = {"pause", "purge", "configure", "archive", "mask", "erase", "maintain", "administer"}
CHECKED_AT = "password_checked_at"  # in the session: seconds since 1970
SIGNED_ON_AT = "signed_on_at"  # seconds since 1970 of a sign-on at a provider
FIELD, CODE_FIELD = "current_password", "current_code"
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}

View = Callable[..., Any]


def confirms(view: View) -> View:
    """Mark a view that checks its permission itself and needs a recent password."""
    view.confirms = True  # type: ignore[attr-defined]
    return view


def confirms_or_begins(view: View) -> View:
    """Mark a view like `confirms`, but accept a person without any proof just after a sign-on."""
    view.begins = True  # type: ignore[attr-defined]
    return confirms(view)


def note_login(sender: Any, request: HttpRequest | None, user: AbstractBaseUser, **_: Any) -> None:
    """Record that a person who logs in has just proved their identity."""
    if request is not None:
        request.session[CHECKED_AT] = timezone.now().timestamp()


class RecentPasswordMiddleware(MiddlewareMixin):
    """Middleware that asks for a recent password before views of these permissions."""

    def process_view(self, request: HttpRequest, view: View, *_: Any) -> HttpResponse | None:
        """Return None if the request may continue."""
        is_guarded = getattr(view, "permission", None) in PERMISSIONS or getattr(view, "confirms", False)
        if request.method in SAFE_METHODS or not is_guarded or not request.user.is_authenticated:
            return None
        is_recent = not settings.CONFIRM_PASSWORD_MINUTES or _is_within(request, CHECKED_AT)  # 0 minutes never ask
        if is_recent or (getattr(view, "begins", False) and _is_first(request)):
            request.POST = _without_password(request)
            return None
        return _check(request)


def _is_first(request: HttpRequest) -> bool:
    """Return whether the person came from a provider just now and has no other proof here."""
    known = request.user.has_usable_password() or second_factor.app_of(request.user) is not None
    return not known and _is_within(request, SIGNED_ON_AT)


def _is_within(request: HttpRequest, name: str) -> bool:
    age = timezone.now().timestamp() - request.session.get(name, float("-inf"))
    return 0 <= age < settings.CONFIRM_PASSWORD_MINUTES * 60


def _check(request: HttpRequest) -> HttpResponse | None:
    if not (request.POST.get(FIELD) or request.POST.get(CODE_FIELD)):
        return _ask(request)
    try:
        if not _is_right(request):
            return _ask(request, wrong=True)
    except lockout.TooManyAttempts as error:
        return _ask(request, until=error.until)
    request.user.refresh_from_db(fields=["password"])  # the check may have upgraded an old hash
    update_session_auth_hash(request, request.user)  # a stolen copy of the session does not become recent
    request.session[CHECKED_AT] = timezone.now().timestamp()
    request.POST = _without_password(request)
    return None


def _is_right(request: HttpRequest) -> bool:
    """Return whether the password is right, or the code of a person without one. Raises `TooManyAttempts`."""
    if request.user.has_usable_password():
        given = request.POST.get(FIELD, "")[:4096]
        return lockout.authenticate(request, request.user.get_username(), given) == request.user
    code = request.POST.get(CODE_FIELD, "")[:20]
    return second_factor.has_one(request.user) and second_factor.takes_counted(request, request.user, code)


def _without_password(request: HttpRequest) -> Any:
    given = request.POST.copy()
    for name in (FIELD, CODE_FIELD):
        given.pop(name, None)
    return given


def _ask(request: HttpRequest, **why: Any) -> HttpResponse:
    fields = kept_forms.fields_of(request)
    has_password = request.user.has_usable_password()
    context = {
        "title": "Confirm your password" if has_password else "Confirm your identity",
        "frame": bare_frame(request),
        "field": FIELD,
        "code_field": CODE_FIELD,
        "kept": kept_forms.flat(fields),
        "fields": json.dumps(fields),
        "by_code": not has_password and second_factor.has_one(request.user),
        "provider": provider.name() if not has_password and admission.is_from_provider(request.user) else "",
        "minutes": settings.CONFIRM_PASSWORD_MINUTES,
        **why,
    }
    status = 429 if "until" in why else 403
    answer = render_form(request, "access/login/reauthenticate.html", context, 200 if request.htmx else status)
    answer["Cache-Control"] = "no-store"
    if request.htmx:
        answer["HX-Retarget"], answer["HX-Reswap"] = "body", "innerHTML"
    return answer
