"""To the provider and back: pages around what allauth does between. Nothing else of allauth's has an address here."""

from __future__ import annotations

import json
import secrets
from typing import Any

import requests
from allauth.core import ratelimit
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from console import entering
from console.attempts import client_address
from console.frame import Frame
from console.sign_on import arriving, provider

MOST_KEPT = 100_000  # characters of a form that waits in the session
QUESTION_SECONDS = 600  # then allauth has forgotten that it asked


@login_not_required
@never_cache
@require_POST
def start(request: HttpRequest) -> HttpResponse:
    """POST /login/sign-on: to the provider, to log in there."""
    return _leave(request, arriving.LOGIN, next_url=entering.destination(request))


@never_cache
@require_POST
def again(request: HttpRequest) -> HttpResponse:
    """POST /account/sign-on: to the provider, to log in there afresh, whatever it remembers; a form waits here."""
    to, fields = request.POST.get("to", ""), _fields(request.POST.get("fields", ""))
    if fields is None or not to.startswith("/") or not url_has_allowed_host_and_scheme(to, None):
        to, fields = "/", []
    data = {"to": to[:MOST_KEPT], "fields": fields, "at": timezone.now().timestamp()}
    return _leave(request, arriving.AGAIN, data=data, prompt="login", max_age="0")


@login_not_required
@never_cache
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """GET /login/sign-on/callback: back, with an answer. It writes, as a login does; for its own question alone."""
    _must_be_on()
    if request.GET.get("iss", settings.OIDC_ISSUER) != settings.OIDC_ISSUER:
        return arriving.fail(request, None)
    answer: HttpResponse = OAuth2CallbackView.adapter_view(provider.Exchange(request, settings.OIDC_ISSUER))(request)
    return answer


def _leave(request: HttpRequest, process: str, next_url: str = "", data: Any = None, **asked: str) -> HttpResponse:
    """A page that leads on by itself: a form may not lead to another site here, and a link may."""
    _must_be_on()
    if not ratelimit.consume(request, action="sign_on", key=client_address(request)):
        return arriving.refuse(request, "There were too many in a minute from your address. Try again in another.", 429)
    if not request.user.is_authenticated:
        request.session.set_expiry(QUESTION_SECONDS)  # who does not come back leaves nothing for longer
    nonce = secrets.token_urlsafe(24)
    try:
        leading = provider.provider_of(request).redirect(
            request, process, next_url, data, auth_params={"nonce": nonce, **asked}, nonce=nonce
        )
    except (OAuth2Error, requests.RequestException) as error:
        return arriving.fail(request, error)
    context = {"title": "One moment", "provider": provider.name(), "to": leading["Location"], "frame": Frame(request)}
    return render(request, "sessions/leaving.html", context)


def _fields(text: str) -> list[tuple[str, list[str]]] | None:
    """The form that waits, as names with their values; None when there is none, or too much of one."""
    try:
        given = json.loads(text) if len(text) <= MOST_KEPT else None
        return [(str(name), [str(value) for value in values]) for name, values in given]
    except (RecursionError, TypeError, ValueError):
        return None


def _must_be_on() -> None:
    if not settings.OIDC_ISSUER:
        raise Http404("There is no sign-on here: OIDC_ISSUER is not set.")
