"""Preferences of one person: theme, density, clock, shortcuts, rows of a page, open groups of the sidebar.

Cookies store the preferences, so that the server writes them into the page. A page needs no inline script, which the
content security policy forbids, and never appears in the wrong theme at first.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

YEAR_SECONDS = 365 * 24 * 3600

# Cookie -> its values with their labels. The first value is the default.
CHOICES = {
    "theme": {"auto": "Auto", "light": "Light", "dark": "Dark"},
    "density": {"regular": "Regular", "compact": "Compact"},
    "zone": {"local": "Local", "utc": "UTC"},
    "shortcuts": {"on": "On", "off": "Off"},
    "rows": {"50": "50", "25": "25", "100": "100", "200": "200"},
    "archive_group": {"closed": "Closed", "open": "Open"},
    "admin_group": {"closed": "Closed", "open": "Open"},
}


def read(request: HttpRequest) -> dict[str, str]:
    """Return the preferences in the cookies of the request. An unknown value counts as the default."""
    given = {name: request.COOKIES.get(name, "") for name in CHOICES}
    return {name: given[name] if given[name] in values else next(iter(values)) for name, values in CHOICES.items()}


def remember(response: HttpResponse, name: str, value: str) -> None:
    """Store one preference in a cookie for a year. An unknown value is ignored."""
    if value in CHOICES.get(name, {}):
        set_cookie(response, name, value, YEAR_SECONDS)


def set_cookie(response: HttpResponse, name: str, value: str, seconds: int) -> None:
    """Set a cookie that no script reads and no other site sends."""
    secure = settings.SESSION_COOKIE_SECURE
    response.set_cookie(name, value, max_age=seconds, secure=secure, samesite="Lax", httponly=True)


@login_not_required
@require_POST
def change(request: HttpRequest) -> HttpResponse:
    """Store the preferences of the form, then return to the page with the form."""
    response = HttpResponse(status=204) if request.htmx else HttpResponseRedirect(next_address(request))
    for name in CHOICES:
        if name in request.POST:
            remember(response, name, request.POST[name])
    return response


def next_address(request: HttpRequest) -> str:
    """Return the address in the field `next` if it is a page of the console, otherwise `/`."""
    wanted = request.POST.get("next", "")
    return wanted if url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure()) else "/"
