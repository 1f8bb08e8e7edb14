"""Pages of sign-on: the redirect to the provider, and the return. No other view of allauth has an address here."""

from __future__ import annotations

import json
import logging
import secrets
from typing import Any

import requests
from allauth.core import ratelimit
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.contrib.auth import logout as end_session
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from console.access import kept_forms, reauthentication
from console.access import login as entering
from console.access.kept_forms import KeptForm
from console.access.lockout import client_address
from console.access.sign_on import admission, provider
from console.access.sign_on.provider import Fault, Provider, provider_of
from console.web.htmx import render_form
from console.web.preferences import next_address

LOGIN, AGAIN = "login", "again"
MAX_KEPT = 100_000  # maximum characters of a waiting form
QUESTION_SECONDS = 600  # the time after which allauth drops the login

logger = logging.getLogger(__name__)


@login_not_required
@never_cache
@require_POST
def start(request: HttpRequest) -> HttpResponse:
    """POST /login/sign-on: redirect to the provider for a login."""
    kept = request.POST.get(kept_forms.FIELD, "")
    return _leave(request, LOGIN, next_url=next_address(request), data={"kept": kept})


@never_cache
@require_POST
def again(request: HttpRequest) -> HttpResponse:
    """POST /account/sign-on: redirect to the provider for a fresh login, while a form waits in the session."""
    to, fields = request.POST.get("to", ""), _fields(request.POST.get("fields", ""))
    if fields is None or not to.startswith("/") or not url_has_allowed_host_and_scheme(to, None):
        to, fields = "/", []
    data = {"to": to[:MAX_KEPT], "fields": fields, "at": timezone.now().timestamp()}
    return _leave(request, AGAIN, data=data, prompt="login", max_age="0")


@login_not_required
@never_cache
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """GET /login/sign-on/callback: handle the provider's answer to this browser's own login. It writes, as a login
    does.
    """
    _must_be_on()
    if request.GET.get("iss", settings.OIDC_ISSUER) != settings.OIDC_ISSUER:
        return fail(request, None)
    answer: HttpResponse = OAuth2CallbackView.adapter_view(provider.Exchange(request, settings.OIDC_ISSUER))(request)
    return answer


def _leave(request: HttpRequest, process: str, next_url: str = "", data: Any = None, **asked: str) -> HttpResponse:
    """Render a page that redirects by itself, because forms may not lead to another site here, and links may."""
    _must_be_on()
    if not ratelimit.consume(request, action="sign_on", key=client_address(request)):
        return refuse(request, "There were too many in a minute from your address. Try again in another.", 429)
    if not request.user.is_authenticated:
        request.session.set_expiry(QUESTION_SECONDS)  # an abandoned login leaves no session for longer
    nonce = secrets.token_urlsafe(24)
    try:
        leading = provider_of(request).redirect(
            request, process, next_url, data, auth_params={"nonce": nonce, **asked}, nonce=nonce
        )
    except (OAuth2Error, requests.RequestException) as error:
        return fail(request, error)
    context = {"title": "One moment", "provider": provider.name(), "to": leading["Location"]}
    return render_form(request, "access/login/logged_out.html", context)


def _fields(text: str) -> list[tuple[str, list[str]]] | None:
    """Return the names and values of the waiting form; None if there is none, or if it is too large."""
    try:
        given = json.loads(text) if len(text) <= MAX_KEPT else None
        return [(str(name), [str(value) for value in values]) for name, values in given]
    except (RecursionError, TypeError, ValueError):
        return None


def _must_be_on() -> None:
    if not settings.OIDC_ISSUER:
        raise Http404("There is no sign-on here: OIDC_ISSUER is not set.")


def arrive(request: HttpRequest, login: SocialLogin) -> HttpResponse:
    """Log the person in. Raises `Fault` for an answer to a login that this browser did not start."""
    if not provider.answers(login.said, login.state.get("nonce")):
        raise Fault("the identity token belongs to another login")
    again = login.state.get("process") == AGAIN
    if again and login.user != request.user:  # this is not a login, so it has no audit row
        return refuse(request, "You signed in as another person. Nothing was changed, and you are still logged in.")
    admitted = admission.admit(login)
    if isinstance(admitted, str):
        if again:
            end_session(request)  # ends the session of the previous person
        return refuse(request, admitted)
    if again:
        return _prove_again(request, login)
    at = provider.logged_in_at(login.said)
    kept = (login.state.get("data") or {}).get("kept", "")
    return entering.enter(request, admitted, login.state.get("next") or "/", elsewhere=at, kept=kept)


def refuse(request: HttpRequest, reason: str, status: int = 403) -> HttpResponse:
    context = {"title": "Not signed in", "reason": reason, "provider": provider.name()}
    return render_form(request, "access/login/sign_on_refused.html", context, status)


def fail(request: HttpRequest, exception: Exception | None) -> HttpResponse:
    """Refuse the login after an error between the console and the provider."""
    if isinstance(exception, requests.RequestException):
        return refuse(request, f"{provider.name()} does not answer as it should. Try again in a moment.", 502)
    return refuse(request, "What came back was not an answer to this browser's question, or too late. Try again.")


def _prove_again(request: HttpRequest, login: SocialLogin) -> HttpResponse:
    """Accept a fresh login of the same person, and submit the waiting form."""
    asked = login.state.get("data") or {}
    if provider.logged_in_at(login.said) < asked.get("at", float("inf")) - provider.LEEWAY_SECONDS:
        reason = f"{provider.name()} did not ask for your password, or does not say so. Nothing was done."
        return refuse(request, f"{reason} Log out and in again, or set up a second factor under Your account.")
    request.session.cycle_key()
    request.session[reauthentication.CHECKED_AT] = timezone.now().timestamp()
    form = KeptForm(asked.get("to", "/"), asked.get("fields", []), "/")
    return kept_forms.offer(request, form)


class SignOnAdapter(DefaultSocialAccountAdapter):
    """Adapter of allauth that sends every login to `arrive`."""

    def list_apps(self, request: HttpRequest, provider: Any = None, client_id: Any = None) -> list[SocialApp]:
        return []  # rows in allauth's table allow no login

    def get_provider(self, request: HttpRequest, provider: Any, client_id: Any = None) -> Provider:
        if provider not in (settings.OIDC_ISSUER, Provider.id):
            raise SocialApp.DoesNotExist
        return provider_of(request)

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return False

    def get_requests_session(self) -> requests.Session:
        """Return a session that follows no redirect, because requests contain secrets."""
        session: requests.Session = super().get_requests_session()
        session.max_redirects = 0
        return session

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        raise ImmediateHttpResponse(arrive(request, sociallogin))

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, exception: Exception | None = None, **_: Any
    ) -> None:
        if error == AuthError.CANCELLED:
            raise ImmediateHttpResponse(refuse(request, "You did not sign in there."))
        why = str(exception) if isinstance(exception, Fault) else type(exception).__name__
        logger.warning("A sign-on failed: %s", why if exception else "this browser did not start the login")
        raise ImmediateHttpResponse(fail(request, exception))
