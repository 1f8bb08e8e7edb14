"""The documentation in the console: one page at a time."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.access.roles import requires
from console.documentation import pages
from console.web.htmx import render_form


@require_safe
@requires("see_metadata", in_part=True)
def show(request: HttpRequest) -> HttpResponse:
    """GET /docs[?page=]: a page of the documentation; without a name, the list of all pages."""
    name = request.GET.get("page", "") or pages.FIRST
    text = pages.read(name)
    if text is None:
        raise Http404(f"The documentation has no page {name[:80]!r}.")
    context = {"title": pages.title_of(text), "text": pages.to_html(name, text), "is_first": name == pages.FIRST}
    return render_form(request, "documentation/show.html", context)
