"""One view serves a page and its living part: htmx gets the fragment that the page itself includes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers

from console.web import preferences
from console.web.layout import Frame

# Swapped beside every fragment: the title, the sidebar's counts and its lamp.
SURROUNDINGS = "layout/_surroundings.html"


def render_page(request: HttpRequest, page: str, fragment: str, context: Mapping[str, Any]) -> HttpResponse:
    """Render `fragment` for htmx and `page`, which includes it, for everybody else.

    `context` has the page's `title`; the page finds the fragment to include as `fragment`. The status is 422 where a
    form has a mistake. Answers are never stored: they show payloads, or numbers that are wrong a second later.
    """
    everything = {**context, "frame": Frame(request), "fragment": fragment}
    if wants_fragment(request):
        html = render_to_string(fragment, everything, request) + render_to_string(SURROUNDINGS, everything, request)
    else:
        html = render_to_string(page, everything, request)
    response = HttpResponse(html, status=_status_of(context), headers={"Cache-Control": "no-store"})
    patch_vary_headers(response, ["HX-Request"])
    preferences.remember(response, "rows", request.GET.get("rows", ""))
    return response


def render_form(request: HttpRequest, page: str, context: Mapping[str, Any], status: int = 0) -> HttpResponse:
    """Render a page that has no living part, with 422 where its form has a mistake and no status is named."""
    return render(request, page, {"frame": Frame(request), **context}, status=status or _status_of(context))


def _status_of(context: Mapping[str, Any]) -> int:
    forms = (context.get(name) for name in ("form", "code_form"))
    return 422 if context.get("mistake") or any(form.errors for form in forms if form is not None) else 200


def wants_fragment(request: HttpRequest) -> bool:
    """Return whether htmx asks for the living part only; going back in history needs the whole page."""
    htmx = getattr(request, "htmx", None)
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request
