"""Answers for pages with a live part: htmx gets the live part alone, and other requests get the whole page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers

from console.web import preferences
from console.web.layout import Frame

# Part of every fragment: the title, and the counts and the lamp of the sidebar.
SURROUNDINGS = "layout/_surroundings.html"


def render_page(request: HttpRequest, page: str, fragment: str, context: Mapping[str, Any]) -> HttpResponse:
    """Render the template `fragment` for htmx, and the template `page` for other requests.

    `context` has the `title` of the page. The page includes the fragment by the variable `fragment`. The status is 422
    if a form has a mistake. Browsers do not store the answer, which shows payloads and numbers of this moment.
    """
    full_context = {**context, "frame": Frame(request), "fragment": fragment}
    if wants_fragment(request):
        html = render_to_string(fragment, full_context, request) + render_to_string(SURROUNDINGS, full_context, request)
    else:
        html = render_to_string(page, full_context, request)
    response = HttpResponse(html, status=_status_of(context), headers={"Cache-Control": "no-store"})
    patch_vary_headers(response, ["HX-Request"])
    preferences.remember(response, "rows", request.GET.get("rows", ""))
    return response


def render_form(request: HttpRequest, page: str, context: Mapping[str, Any], status: int = 0) -> HttpResponse:
    """Render a page without a live part; without a `status`, the status is 422 if its form has a mistake, else 200."""
    return render(request, page, {"frame": Frame(request), **context}, status=status or _status_of(context))


def _status_of(context: Mapping[str, Any]) -> int:
    forms = (context.get(name) for name in ("form", "code_form"))
    return 422 if context.get("mistake") or any(form.errors for form in forms if form is not None) else 200


def wants_fragment(request: HttpRequest) -> bool:
    """Return whether htmx asks for the live part alone. Going back in the history needs the whole page."""
    htmx = getattr(request, "htmx", None)
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request
