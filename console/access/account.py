"""The page of a person's own account: the password and the second factor."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.password_validation import validate_password
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from console.access import lockout, roles, second_factor, sessions
from console.access.login import CodeForm
from console.access.reauthentication import confirms, confirms_or_begins
from console.access.second_factor import PASSED
from console.access.sign_on import admission, provider
from console.web.forms.fields import password_field
from console.web.htmx import render_page
from queues import audit

ENDED = "Your other sessions were signed out."


class PasswordForm(forms.Form):
    """The current password and a new one."""

    old = password_field("current-password", label="Current password", max_length=4096)
    new = password_field(
        "new-password", label="New password", max_length=4096, help_text="At least 8 characters, and not a common word."
    )

    def __init__(self, data: Any = None, *, person: AbstractBaseUser) -> None:
        super().__init__(data)
        self._person = person

    def clean_new(self) -> str:
        new: str = self.cleaned_data["new"]
        validate_password(new, self._person)
        return new


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """GET /account: the person's password and second factor."""
    return _page(request)


@require_POST
def password(request: HttpRequest) -> HttpResponse:
    """POST /account/password: set a new password. The person's other sessions end."""
    form = PasswordForm(request.POST, person=request.user)
    if form.is_valid():
        try:
            if lockout.authenticate(request, request.user.get_username(), form.cleaned_data["old"]) == request.user:
                _change(request, form.cleaned_data["new"])
                messages.success(request, f"Password changed. {ENDED}")
                return redirect("account")
            form.add_error("old", "The current password is wrong.")
        except lockout.TooManyAttempts as error:
            form.add_error("old", f"Too many wrong passwords: try again after {error.until:%H:%M:%S} UTC.")
    return _page(request, form=form)


@transaction.atomic
def _change(request: HttpRequest, new: str) -> None:
    request.user.set_password(new)
    request.user.save(update_fields=["password"])
    audit.record(request.user.get_username(), "person.password", details={"person": request.user.get_username()})
    update_session_auth_hash(request, request.user)


@confirms_or_begins
@require_POST
def begin(request: HttpRequest) -> HttpResponse:
    """POST /account/second-factor: create a new secret for the person's app."""
    _must_be_allowed()
    if second_factor.app_of(request.user) is None:
        second_factor.begin(request.session)
    return redirect("account")


@confirms_or_begins
@require_POST
def confirm(request: HttpRequest) -> HttpResponse:
    """POST /account/second-factor/confirm: check the app's first code, then show the recovery codes once."""
    _must_be_allowed()
    form = CodeForm(request.POST)
    if form.is_valid():
        paper = second_factor.confirm(request.user, request.session, form.cleaned_data["code"])
        if paper is not None:
            request.session[PASSED] = True
            sessions.end_sessions(
                request.user, but=request.session.session_key
            )  # the other sessions began without a code
            messages.success(request, f"Second factor set up: login now asks for a code. {ENDED}")
            return _page(request, paper=paper)
        form.add_error("code", "The code is wrong, expired or already used. Check the clock of your device.")
    return _page(request, code_form=form)


@confirms
@require_POST
def recovery_codes(request: HttpRequest) -> HttpResponse:
    """POST /account/recovery-codes: create recovery codes that replace the earlier ones."""
    _must_be_allowed()
    if not _lacks_code(request):
        if paper := second_factor.renew_paper(request.user):
            return _page(request, paper=paper)
        messages.error(request, "Nothing was changed: set up a second factor first.")
    return redirect("account")


@confirms
@require_POST
def remove(request: HttpRequest) -> HttpResponse:
    """POST /account/second-factor/remove: remove the second factor, so that login asks for no code."""
    _must_be_allowed()
    if settings.SECOND_FACTOR == "required":
        messages.error(request, "Nothing was changed: a second factor is required (SECOND_FACTOR).")
    elif not _lacks_code(request) and second_factor.remove(request.user, actor=request.user.get_username()):
        request.session.pop(PASSED, None)
        sessions.end_sessions(request.user, but=request.session.session_key)
        messages.success(request, f"Second factor removed. {ENDED}")
    return redirect("account")


def _lacks_code(request: HttpRequest) -> bool:
    """Return whether a person with an app gave no code. The password alone must not change the second factor."""
    lacking = second_factor.has_one(request.user) and not request.session.get(PASSED)
    if lacking:
        messages.error(request, "Nothing was changed: this session began without a code. Log out and log in again.")
    return lacking


def _must_be_allowed() -> None:
    if settings.SECOND_FACTOR == "off":
        raise Http404("Second factors are off (SECOND_FACTOR).")


def _page(request: HttpRequest, **given: Any) -> HttpResponse:
    """Render the page with a refused form, or with new recovery codes in `paper`."""
    person = request.user
    factor = second_factor.app_of(person)
    secret = "" if factor else second_factor.pending(request.session)
    address = second_factor.address(person, secret) if secret else ""
    context = {
        "title": "Your account",
        "form": PasswordForm(person=person),
        "code_form": CodeForm(),
        "offered": settings.SECOND_FACTOR,
        "factor": factor,
        "passed": request.session.get(PASSED, False),
        "secret": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        "app_address": address,
        "picture": second_factor.picture_of(address) if secret else "",
        "paper_left": second_factor.paper_left(person) if factor else 0,
        "permissions": [words for name, words in roles.PERMISSIONS.items() if roles.may(person, name)],
        "provider": provider.name() if admission.is_from_provider(person) else "",
        **given,
    }
    return render_page(request, "access/account/show.html", "access/account/_facts.html", context)
