"""Logging in and out."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth import logout as end_session
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRefresh

from console import attempts, entering, second_step
from console.account_forms import CodeForm
from console.attempts import TooManyAttempts
from console.frame import Frame
from console.login_form import LoginForm
from console.sign_on import provider


@login_not_required
@sensitive_post_parameters("password")
@never_cache
def login(request: HttpRequest) -> HttpResponse:
    """Ask for a name and a password; then go where the person wanted to go."""
    if request.htmx:
        return HttpResponseClientRefresh()  # a session ended under an open page: the whole page has to change
    form = LoginForm(request, request.POST or None)
    try:
        if request.method == "POST" and form.is_valid():
            return entering.enter(request, form.get_user(), entering.destination(request))
    except TooManyAttempts as error:
        return _locked(request, error.until)
    status = 422 if form.errors else 200
    context = {
        "title": "Log in",
        "form": form,
        "next": request.POST.get("next", request.GET.get("next", "")),
        "provider": provider.name(),
        "frame": Frame(request),
    }
    return render(request, "sessions/login.html", context, status=status)


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def code(request: HttpRequest) -> HttpResponse:
    """GET, POST /login/code: the second factor of whoever gave the right password a moment ago."""
    person = second_step.waiting(request)
    if person is None:
        return redirect("login")
    form = CodeForm(request.POST or None)
    try:
        attempts.check(request, person.get_username())
        if request.method == "POST" and form.is_valid():
            if second_step.takes(request, person, form.cleaned_data["code"]):
                elsewhere = request.session[second_step.WAITING].get("elsewhere")
                wanted = entering.destination(request)
                return entering.begin(request, person, wanted, elsewhere=elsewhere, by_code=True)
            form.add_error("code", "wrong")
    except TooManyAttempts as error:
        return _locked(request, error.until)
    wanted = request.POST.get("next", request.GET.get("next", ""))
    context = {"title": "Code", "form": form, "next": wanted, "frame": Frame(request)}
    return render(request, "sessions/code.html", context, status=422 if form.errors else 200)


@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    """End the session."""
    end_session(request)
    return redirect("login")


def _locked(request: HttpRequest, until: datetime) -> HttpResponse:
    context = {"title": "Too many wrong passwords", "until": until, "frame": Frame(request)}
    answer = render(request, "sessions/locked.html", context, status=429)
    answer["Retry-After"] = str(max(1, round((until - timezone.now()).total_seconds())))
    return answer
