"""The palette as a page, and as a fragment for the dialog."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from console.access.roles import requires
from console.palette.results import find
from console.web.htmx import render_form, wants_fragment

MAX_CHARACTERS = 200


@require_safe
@requires("see_metadata", in_part=True)
def search(request: HttpRequest) -> HttpResponse:
    """GET /palette?q=: the results for the text that the person may open."""
    text = request.GET.get("q", "").replace("\0", "").strip()[:MAX_CHARACTERS]
    sections = find(request, text)
    context = {
        "title": "Search",
        "text": text,
        "sections": sections,
        "count": sum(len(one.results) for one in sections),
    }
    if wants_fragment(request):
        response = render(request, "palette/_options.html", context)
    else:
        response = render_form(request, "palette/show.html", context)
    response["Cache-Control"] = "no-store"
    patch_vary_headers(response, ["HX-Request"])
    return response
