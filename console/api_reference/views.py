"""Pages of the API reference and of problem types, open to everyone without a key or login."""

from __future__ import annotations

from functools import cache

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.access.api_keys import ALL, SCOPES
from console.api import openapi
from console.api.core.problem_types import PROBLEM_TYPES
from console.api_reference.operations import Section, sections
from console.web.htmx import render_page


@login_not_required
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """GET /v1/docs: every operation, from the same document as /v1/openapi.json."""
    context = {
        "title": "HTTP API",
        "base": settings.CONSOLE_URL,
        "sections": _sections(),
        "scopes": [*SCOPES.items(), (ALL, "all of these")],
        "kinds": PROBLEM_TYPES.values(),
    }
    return render_page(request, "api_reference/show.html", "api_reference/_calls.html", context)


@login_not_required
@require_safe
def problem(request: HttpRequest, slug: str) -> HttpResponse:
    """GET /problems/<slug>: the meaning of a problem, and advice."""
    kind = PROBLEM_TYPES.get(slug)
    if kind is None:
        raise Http404(f"There is no problem {slug[:80]!r}.")
    context = {"title": kind.title, "kind": kind}
    return render_page(request, "api_reference/problem.html", "api_reference/_problem.html", context)


@cache
def _sections() -> list[Section]:
    """Return the sections, which stay the same while the process runs."""
    return sections(openapi.document(), openapi.scopes(), settings.CONSOLE_URL)
