"""One view serves a page and its living part: htmx gets the fragment that the page itself includes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers

from console.frame import Frame

# Swapped beside every fragment: the title, the rail's counts and its lamp.
SURROUNDINGS = "components/_surroundings.html"


def render_page(
    request: HttpRequest,
    page: str,
    fragment: str,
    context: Mapping[str, Any],
    *,
    status: int = 200,
) -> HttpResponse:
    """Render `fragment` for htmx and `page`, which includes it, for everybody else.

    `context` has the page's `title`; the page finds the fragment to include as `fragment`. Answers are never
    stored: they show payloads, or numbers that are wrong a second later.
    """
    everything = {**context, "frame": Frame(request), "fragment": fragment}
    if wants_fragment(request):
        html = render_to_string(fragment, everything, request) + render_to_string(SURROUNDINGS, everything, request)
    else:
        html = render_to_string(page, everything, request)
    response = HttpResponse(html, status=status, headers={"Cache-Control": "no-store"})
    patch_vary_headers(response, ["HX-Request"])
    return response


def wants_fragment(request: HttpRequest) -> bool:
    """Whether htmx asks for the living part only; going back in history needs the whole page."""
    htmx = getattr(request, "htmx", None)
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request
