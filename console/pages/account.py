"""One's own account: the password, and the second factor where there may be one."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from console import attempts, ending, second_factor
from console.account_forms import CodeForm, PasswordForm
from console.confirming import confirms, confirms_or_begins
from console.htmx import render_page
from console.second_factor import picture
from console.second_step import PASSED
from console.sign_on import admitting, provider
from queues import audit


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """GET /account: who one is here."""
    return _page(request, PasswordForm(person=request.user), CodeForm())


@require_POST
def password(request: HttpRequest) -> HttpResponse:
    """POST /account/password: another one. Sessions elsewhere end."""
    form = PasswordForm(request.POST, person=request.user)
    if form.is_valid():
        try:
            if attempts.authenticate(request, request.user.get_username(), form.cleaned_data["old"]) == request.user:
                _change(request, form.cleaned_data["new"])
                messages.success(request, "Your password is changed. Sessions elsewhere have ended.")
                return redirect("account")
            form.add_error("old", "This is not your password.")
        except attempts.TooManyAttempts as error:
            form.add_error("old", f"Too many wrong passwords: try again after {error.until:%H:%M:%S} UTC.")
    return _page(request, form, CodeForm())


@transaction.atomic
def _change(request: HttpRequest, new: str) -> None:
    request.user.set_password(new)
    request.user.save(update_fields=["password"])
    audit.record(request.user.get_username(), "person.password", details={"person": request.user.get_username()})
    update_session_auth_hash(request, request.user)


@confirms_or_begins
@require_POST
def begin(request: HttpRequest) -> HttpResponse:
    """POST /account/second-factor: a secret to give to an app."""
    _must_be_allowed()
    if second_factor.app_of(request.user) is None:
        second_factor.begin(request.session)
    return redirect("account")


@confirms_or_begins
@require_POST
def confirm(request: HttpRequest) -> HttpResponse:
    """POST /account/second-factor/confirm: the app has it, as its code proves. Shows the codes for paper, once."""
    _must_be_allowed()
    form = CodeForm(request.POST)
    if form.is_valid():
        paper = second_factor.confirm(request.user, request.session, form.cleaned_data["code"])
        if paper is not None:
            request.session[PASSED] = True
            ending.end_sessions(request.user, but=request.session.session_key)  # they came in without a code
            messages.success(
                request, "From now on you are asked for a code when you log in. Sessions elsewhere have ended."
            )
            return _page(request, PasswordForm(person=request.user), CodeForm(), paper)
        form.add_error("code", "This is not the code of this moment. Is the clock of your device right?")
    return _page(request, PasswordForm(person=request.user), form)


@confirms
@require_POST
def recovery_codes(request: HttpRequest) -> HttpResponse:
    """POST /account/recovery-codes: other codes to keep on paper; those before are worth nothing any more."""
    _must_be_allowed()
    if _lacks_code(request):
        return redirect("account")
    paper = second_factor.renew_paper(request.user)
    if paper is None:
        messages.error(request, "Nothing was changed: set up the app first.")
        return redirect("account")
    return _page(request, PasswordForm(person=request.user), CodeForm(), paper)


@confirms
@require_POST
def remove(request: HttpRequest) -> HttpResponse:
    """POST /account/second-factor/remove: the password is enough again."""
    _must_be_allowed()
    if settings.SECOND_FACTOR == "required":
        messages.error(request, "Nothing was changed: everybody here needs a second factor.")
    elif not _lacks_code(request) and second_factor.remove(request.user, actor=request.user.get_username()):
        request.session.pop(PASSED, None)
        ending.end_sessions(request.user, but=request.session.session_key)
        messages.success(request, "Your password is enough again. Sessions elsewhere have ended.")
    return redirect("account")


def _lacks_code(request: HttpRequest) -> bool:
    """Whether they came in without a code and have an app: whoever has the password alone does not change that."""
    lacking = second_factor.has_one(request.user) and not request.session.get(PASSED)
    if lacking:
        messages.error(request, "Nothing was changed: you came in without a code. Log out and in again.")
    return lacking


def _must_be_allowed() -> None:
    if settings.SECOND_FACTOR == "off":
        raise Http404("There are no second factors here: SECOND_FACTOR is off.")


def _page(request: HttpRequest, form: PasswordForm, code_form: CodeForm, paper: Sequence[str] = ()) -> HttpResponse:
    person = request.user
    factor = second_factor.app_of(person)
    secret = "" if factor else second_factor.pending(request.session)
    address = second_factor.address(person, secret) if secret else ""
    context = {
        "title": "Your account",
        "form": form,
        "code_form": code_form,
        "offered": settings.SECOND_FACTOR,
        "factor": factor,
        "passed": request.session.get(PASSED, False),
        "secret": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        "app_address": address,
        "picture": picture.of(address) if secret else "",
        "paper": paper,
        "paper_left": second_factor.paper_left(person) if factor else 0,
        "provider": provider.name() if admitting.is_from_provider(person) else "",
    }
    status = 422 if form.errors or code_form.errors else 200
    return render_page(request, "account/show.html", "account/_facts.html", context, status=status)
