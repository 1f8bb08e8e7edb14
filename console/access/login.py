"""Login and logout. After a password, or a login at a provider, a person with an app also gives a code.

A form that arrives after its session has ended is not lost: the login page keeps it, and the same person can submit it
after the login.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.contrib.auth import login as begin_session
from django.contrib.auth import logout as end_session
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRefresh

from console.access import kept_forms, lockout, reauthentication, second_factor
from console.access.kept_forms import KeptForm
from console.access.lockout import TooManyAttempts
from console.access.sign_on import provider
from console.web.htmx import render_form
from console.web.preferences import next_address

PASSWORDS = "django.contrib.auth.backends.ModelBackend"
WAITING = "waiting_for_code"  # in the session: the person who gave a password, and the time
WAITS_SECONDS = 300
MAX_FORGOTTEN = 1_000
"""Expired sessions that one login deletes at most: quick to delete, and more than expire between two logins."""


class CodeForm(forms.Form):
    """The six digits of the person's app."""

    code = forms.CharField(
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric"}),
        help_text="Six digits.",
    )


class LoginForm(AuthenticationForm):
    """Django's login form. It raises `TooManyAttempts` where Django would say that the password is wrong."""

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if "username" in given and "password" in given:
            self.user_cache = lockout.authenticate(self.request, given["username"], given["password"])
            if self.user_cache is None:
                raise self.get_invalid_login_error()
            self.confirm_login_allowed(self.user_cache)
        return given


@login_not_required
@sensitive_post_parameters("password")
@never_cache
def login(request: HttpRequest) -> HttpResponse:
    """Show the login form; after a login, go to the page that the person wanted."""
    if request.htmx:
        return HttpResponseClientRefresh()  # the session of an open page ended: reload the whole page
    form = LoginForm(request, request.POST or None)
    try:
        if request.method == "POST" and form.is_valid():
            kept = request.POST.get(kept_forms.FIELD, "")
            return enter(request, form.get_user(), next_address(request), kept=kept)
    except TooManyAttempts as error:
        return _locked(request, error.until)
    return _page(request, form, _wanted(request), request.POST.get(kept_forms.FIELD, ""))


def _page(request: HttpRequest, form: LoginForm, wanted: str, kept: str = "", status: int = 0) -> HttpResponse:
    """Show the login form. If this browser has logged in before, the page says that the session has ended."""
    has_ended = wanted not in ("", "/") and lockout.known_person(request) is not None
    context = {"title": "Log in", "form": form, "next": wanted, "kept": kept, "provider": provider.name()}
    return render_form(request, "access/login/login.html", {**context, "has_ended": has_ended}, status)


class LoginMiddleware(LoginRequiredMiddleware):
    """Middleware that asks for a login, and keeps a form whose session has ended."""

    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> HttpResponse:
        """Show the login page with the form in it, or redirect to the login page."""
        person = lockout.known_person(request) if _is_kept(request) else None
        if person is None:
            redirected: HttpResponse = super().handle_no_permission(request, view_func)
            return redirected
        page = _page_of_form(request)
        kept = kept_forms.seal(KeptForm(request.get_full_path(), kept_forms.fields_of(request), page), person)
        return _page(request, LoginForm(request), page, kept, 403)


def _is_kept(request: HttpRequest) -> bool:
    """Return whether the request is a form that is worth keeping."""
    name = request.resolver_match.url_name if request.resolver_match else ""
    return request.method == "POST" and not request.htmx and name != "logout"


def _page_of_form(request: HttpRequest) -> str:
    """Return the address of the page that showed the form, by the header Referer; else that of the overview."""
    page = request.META.get("HTTP_REFERER", "")
    is_ours = url_has_allowed_host_and_scheme(page, {request.get_host()}, request.is_secure())
    return request.build_absolute_uri(page).removeprefix(request.build_absolute_uri("/")[:-1]) if is_ours else "/"


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def code(request: HttpRequest) -> HttpResponse:
    """GET, POST /login/code: check the second factor of a person who just gave the right password."""
    person = _waiting(request)
    if person is None:
        return redirect("login")
    form = CodeForm(request.POST or None)
    try:
        lockout.check(request, person.get_username())
        if request.method == "POST" and form.is_valid():
            if second_factor.takes_counted(request, person, form.cleaned_data["code"]):
                waiting = {name: request.session[WAITING].get(name) for name in ("elsewhere", "kept")}
                return begin(request, person, next_address(request), by_code=True, **waiting)
            form.add_error("code", "This code is wrong, expired or already used.")
    except TooManyAttempts as error:
        return _locked(request, error.until)
    context = {"title": "Code", "form": form, "next": _wanted(request)}
    return render_form(request, "access/login/code.html", context)


@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    """End the session and show the login form."""
    end_session(request)
    return redirect("login")


def _wanted(request: HttpRequest) -> str:
    return request.POST.get("next", request.GET.get("next", ""))


def _locked(request: HttpRequest, until: datetime) -> HttpResponse:
    answer = render_form(
        request, "access/login/locked.html", {"title": "Too many wrong passwords", "until": until}, 429
    )
    answer["Retry-After"] = str(max(1, round((until - timezone.now()).total_seconds())))
    return answer


def enter(
    request: HttpRequest,
    person: AbstractBaseUser,
    destination: str,
    *,
    elsewhere: float | None = None,
    kept: str | None = None,
) -> HttpResponse:
    """Log the person in, or redirect to the page that asks for a code.

    `elsewhere` is the time of the login at a provider, 0 if the provider did not say; None after a password. `kept` is
    the encrypted form of a session that has ended.
    """
    if second_factor.has_one(person):
        request.session.flush()
        said = {"person": person.pk, "hash": person.get_session_auth_hash(), "elsewhere": elsewhere, "kept": kept}  # type: ignore[attr-defined]
        request.session[WAITING] = said | {"at": timezone.now().timestamp()}  # this entry alone is not a login
        return redirect(f"{reverse('login_code')}?{urlencode({'next': destination})}")
    return begin(request, person, destination, elsewhere=elsewhere, kept=kept)


def _waiting(request: HttpRequest) -> AbstractBaseUser | None:
    """Return the person who gave the right password within the last minutes."""
    told = request.session.get(WAITING) or {}
    age = timezone.now().timestamp() - told.get("at", float("-inf"))
    if not 0 <= age < WAITS_SECONDS:
        return None
    person = get_user_model().objects.filter(pk=told["person"], is_active=True).first()
    if person is None or not constant_time_compare(told.get("hash", ""), person.get_session_auth_hash()):
        return None  # deactivated, or the password changed
    return person


def begin(
    request: HttpRequest,
    person: AbstractBaseUser,
    destination: str,
    *,
    elsewhere: float | None = None,
    by_code: bool = False,
    kept: str | None = None,
) -> HttpResponse:
    """Begin a session with a fixed end, however active it is, and delete expired sessions."""
    _forget_sessions()
    begin_session(request, person, backend=PASSWORDS)
    if by_code:
        request.session[second_factor.PASSED] = True
    hours = settings.SESSION_HOURS if elsewhere is None else min(settings.OIDC_SESSION_HOURS, settings.SESSION_HOURS)
    request.session.set_expiry(timezone.now() + timedelta(hours=hours))
    if elsewhere is not None:
        request.session[reauthentication.SIGNED_ON_AT] = timezone.now().timestamp()
        if not by_code:  # a provider accepts a login of days ago, which is no fresh proof
            request.session[reauthentication.CHECKED_AT] = min(elsewhere, timezone.now().timestamp())
    response = _arrive(request, person, destination, kept)
    lockout.remember_browser(response, person)
    return response


def _arrive(request: HttpRequest, person: AbstractBaseUser, destination: str, kept: str | None) -> HttpResponse:
    """Redirect to the destination, or offer the form of the person's session that has ended."""
    form = kept_forms.unseal(kept, person) if kept else None
    if form is not None:
        return kept_forms.offer(request, form)
    if kept:
        messages.warning(request, "The form was not submitted: another person sent it, or it is too old.")
    return HttpResponseRedirect(destination)


def _forget_sessions() -> None:
    """Delete expired sessions, and skip rows that another process is deleting."""
    over = Session.objects.filter(expire_date__lt=timezone.now()).order_by("expire_date")
    with transaction.atomic():
        keys = list(over.select_for_update(skip_locked=True).values_list("pk", flat=True)[:MAX_FORGOTTEN])
        Session.objects.filter(pk__in=keys).delete()
