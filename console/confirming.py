"""Asks for the password again before what is hard to take back: purges, configuration, who may do what.

A session that somebody left open, or that somebody stole, can look and cannot do these. The form that was sent is kept
in the page that asks, and goes on to its view with the right password: nothing is typed twice but secrets. Whoever has
no password here gives a code of their second factor, or logs in once more at the provider that they came from.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from console import attempts, preferences, second_factor, second_step
from console.sign_on import admitting, provider

PERMISSIONS = {"purge", "configure", "administer"}
CHECKED_AT = "password_checked_at"  # in the session: seconds since 1970
SIGNED_ON_AT = "signed_on_at"  # the same, of whoever came from a provider
FIELD, CODE_FIELD = "current_password", "current_code"
NOT_KEPT = {FIELD, CODE_FIELD, "csrfmiddlewaretoken", "password"}
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}

View = Callable[..., Any]


class _Doorframe:
    def __init__(self, request: HttpRequest) -> None:
        self.preferences = preferences.read(request)


def confirms(view: View) -> View:
    """A view that checks its permission itself: what it changes takes a recent password too."""
    view.confirms = True  # type: ignore[attr-defined]
    return view


def confirms_or_begins(view: View) -> View:
    """The same; but whoever can prove nothing else yet may make their first proof when they have just signed on."""
    view.begins = True  # type: ignore[attr-defined]
    return confirms(view)


def note_login(sender: Any, request: HttpRequest | None, user: AbstractBaseUser, **_: Any) -> None:
    """Whoever logs in has just said who they are."""
    if request is not None:
        request.session[CHECKED_AT] = timezone.now().timestamp()


class RecentPasswordMiddleware(MiddlewareMixin):
    """Stands before every view of these permissions, whatever else the view looks at."""

    def process_view(self, request: HttpRequest, view: View, *_: Any) -> HttpResponse | None:
        """None lets the request go on."""
        if request.method in SAFE_METHODS or not is_for(view) or not request.user.is_authenticated:
            return None
        if is_recent(request) or (getattr(view, "begins", False) and _is_first(request)):
            request.POST = _without_password(request)
            return None
        return _check(request)


def is_for(view: View) -> bool:
    return getattr(view, "permission", None) in PERMISSIONS or getattr(view, "confirms", False)


def is_recent(request: HttpRequest) -> bool:
    """Whether this session gave the password within the last CONFIRM_PASSWORD_MINUTES; 0 asks nobody."""
    return not settings.CONFIRM_PASSWORD_MINUTES or _is_within(request, CHECKED_AT)


def _is_first(request: HttpRequest) -> bool:
    """Whether they came from a provider just now, perhaps one that never says more, and have no other proof here."""
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
    except attempts.TooManyAttempts as error:
        return _ask(request, until=error.until)
    request.user.refresh_from_db(fields=["password"])  # a hash of an older kind was made anew by the check
    update_session_auth_hash(request, request.user)  # and whoever stole the session before gains nothing by this
    request.session[CHECKED_AT] = timezone.now().timestamp()
    request.POST = _without_password(request)
    return None


def _is_right(request: HttpRequest) -> bool:
    """Whether it is their password; for those who have none, a code. Raises `TooManyAttempts`."""
    if request.user.has_usable_password():
        given = request.POST.get(FIELD, "")[:4096]
        return attempts.authenticate(request, request.user.get_username(), given) == request.user
    code = request.POST.get(CODE_FIELD, "")[:20]
    return second_factor.has_one(request.user) and second_step.takes(request, request.user, code)


def _without_password(request: HttpRequest) -> Any:
    secrets = {FIELD, CODE_FIELD} & request.POST.keys()
    if not secrets:
        return request.POST
    given = request.POST.copy()
    for name in secrets:
        del given[name]
    return given


def _ask(request: HttpRequest, **why: Any) -> HttpResponse:
    kept = [(name, values) for name, values in request.POST.lists() if name not in NOT_KEPT]
    has_password = request.user.has_usable_password()
    context = {
        "title": "Your password, please" if has_password else "Is it you?",
        "frame": _Doorframe(request),
        "field": FIELD,
        "code_field": CODE_FIELD,
        "kept": [(name, value) for name, values in kept for value in values],
        "fields": json.dumps(kept),
        "by_code": not has_password and second_factor.has_one(request.user),
        "provider": provider.name() if not has_password and admitting.is_from_provider(request.user) else "",
        "minutes": settings.CONFIRM_PASSWORD_MINUTES,
        **why,
    }
    status = 429 if "until" in why else 403
    answer = render(request, "sessions/confirm.html", context, status=200 if request.htmx else status)
    answer["Cache-Control"] = "no-store"
    if request.htmx:
        answer["HX-Retarget"], answer["HX-Reswap"] = "body", "innerHTML"
    return answer
