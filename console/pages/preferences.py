"""Remembers a preference: without JavaScript by coming back to the page, with it without leaving."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from console import preferences


@login_not_required
@require_POST
def change(request: HttpRequest) -> HttpResponse:
    """Set the preferences that the form names, then return to the page it came from."""
    response = HttpResponse(status=204) if request.htmx else HttpResponseRedirect(_way_back(request))
    for name in preferences.CHOICES:
        if name in request.POST:
            preferences.remember(response, name, request.POST[name])
    return response


def _way_back(request: HttpRequest) -> str:
    back = request.POST.get("next", "")
    return back if url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure()) else "/"
