"""Logging in and out."""

from __future__ import annotations

from django.contrib.auth import login as begin_session
from django.contrib.auth import logout as end_session
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRefresh

from console.frame import Frame


@login_not_required
@sensitive_post_parameters("password")
@never_cache
def login(request: HttpRequest) -> HttpResponse:
    """Ask for a name and a password; then go where the person wanted to go."""
    if request.htmx:
        return HttpResponseClientRefresh()  # a session ended under an open page: the whole page has to change
    form = AuthenticationForm(request, request.POST or None)
    if request.method == "POST" and form.is_valid():
        begin_session(request, form.get_user())
        return HttpResponseRedirect(_destination(request))
    status = 422 if form.errors else 200
    context = {"title": "Log in", "form": form, "next": request.GET.get("next", ""), "frame": Frame(request)}
    return render(request, "sessions/login.html", context, status=status)


@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    """End the session."""
    end_session(request)
    return redirect("login")


def _destination(request: HttpRequest) -> str:
    wanted = request.POST.get("next", "")
    return wanted if url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure()) else "/"
