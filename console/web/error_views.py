"""Pages for what went wrong: each says what happened and what to do next."""

from __future__ import annotations

import sys

from django.http import HttpRequest, HttpResponse
from django.template import loader

from console.web import outages
from console.web.htmx import render_form
from console.web.layout import bare_frame

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


def _show(request: HttpRequest, status: int, title: str, *words: str) -> HttpResponse:
    context = {"title": title, "status": status, "words": words, "frame": bare_frame(request)}
    return render_form(request, "errors/error.html", context, status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: the request cannot be understood."""
    words = "Nothing was changed. Go back, reload the page and try again; a bookmark may be out of date."
    return _show(request, 400, "This request cannot be understood", words)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: the person's role does not allow it."""
    reason = str(exception) or "Your role may not do this."
    return _show(
        request, 403, "Not allowed", reason, "Nothing was changed. An administrator gives roles, under People."
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: nothing lives at this address. Http404 raised with a sentence shows it."""
    said = exception.args[0] if exception.args and isinstance(exception.args[0], str) else ""
    advice = "Messages leave with their queue's retention; queues are listed in the overview."
    return _show(request, 404, "Not found", said or "Nothing lives at this address.", advice)


def in_maintenance(request: HttpRequest, words: str) -> HttpResponse:
    """Answer 503: the installation is under maintenance."""
    advice = "Nothing was changed: send it again when maintenance has ended."
    return _show(request, 503, "Under maintenance", words, advice)


def server_error(request: HttpRequest) -> HttpResponse:
    """500: a fault of ours; 503: the database is away, as the error that is being handled says."""
    if (outage := outages.of(sys.exc_info()[1])) is not None:
        return _away(request, outage)
    return _show(
        request,
        500,
        "The console failed to answer",
        "What you sent may or may not have been done: look before you send it again.",
        "The server's log says what happened. /healthz says whether the database answers.",
    )


def _away(request: HttpRequest, outage: outages.Outage) -> HttpResponse:
    """Answer 503 with a page that looks by itself whether the database is back; for htmx, with a notice."""
    asked = request.method in SAFE_METHODS
    context = {"title": outage.title, "status": 503, "outage": outage, "asked": asked, "frame": bare_frame(request)}
    page = "errors/_outage.html" if request.headers.get("HX-Request") else "errors/outage.html"
    answer = HttpResponse(loader.render_to_string(page, context), status=503)
    answer["Retry-After"] = str(outage.retry_seconds)
    answer["Cache-Control"] = "no-store"
    return answer
