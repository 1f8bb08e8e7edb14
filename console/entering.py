"""The one way in: whoever proved who they are, by password or elsewhere, gives a code if they have an app."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib.auth import login as begin_session
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme, urlencode

from console import confirming, known_browsers, second_factor, second_step

PASSWORDS = "django.contrib.auth.backends.ModelBackend"
MOST_FORGOTTEN = 1_000
"""Sessions at one login: more than come between two, and a moment's work."""


def enter(
    request: HttpRequest, person: AbstractBaseUser, destination: str, *, elsewhere: float | None = None
) -> HttpResponse:
    """In, or to the page that asks for a code.

    `elsewhere` is when the person logged in at a provider, 0 when that did not say; None for who came with a password.
    """
    if second_factor.has_one(person):
        second_step.wait(request, person, elsewhere)
        return redirect(f"{reverse('login_code')}?{urlencode({'next': destination})}")
    return begin(request, person, destination, elsewhere=elsewhere)


def begin(
    request: HttpRequest,
    person: AbstractBaseUser,
    destination: str,
    *,
    elsewhere: float | None = None,
    by_code: bool = False,
) -> HttpResponse:
    """In, with a session, which ends at a time that no activity moves: then one is asked again.

    Sessions that ended are removed.
    """
    _forget_sessions()
    begin_session(request, person, backend=PASSWORDS)
    if by_code:
        request.session[second_step.PASSED] = True
    hours = settings.SESSION_HOURS if elsewhere is None else min(settings.OIDC_SESSION_HOURS, settings.SESSION_HOURS)
    request.session.set_expiry(timezone.now() + timedelta(hours=hours))
    if elsewhere is not None:
        request.session[confirming.SIGNED_ON_AT] = timezone.now().timestamp()
        if not by_code:  # a provider lets in who logged in there days ago: that is no fresh proof
            request.session[confirming.CHECKED_AT] = min(elsewhere, timezone.now().timestamp())
    response = HttpResponseRedirect(destination)
    known_browsers.remember(response, person)
    return response


def destination(request: HttpRequest) -> str:
    """Where the person wanted to go, if that is a page of ours."""
    wanted = request.POST.get("next", "")
    return wanted if url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure()) else "/"


def _forget_sessions() -> None:
    """Those that are over: nothing else takes their rows away. What somebody else removes just now is left to them."""
    over = Session.objects.filter(expire_date__lt=timezone.now()).order_by("expire_date")
    with transaction.atomic():
        keys = list(over.select_for_update(skip_locked=True).values_list("pk", flat=True)[:MOST_FORGOTTEN])
        Session.objects.filter(pk__in=keys).delete()
