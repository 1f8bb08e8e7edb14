"""Pages of errors: each says what happened and what to do next. People who are logged in keep the sidebar.

A form that met the error is not lost: the page shows what the person entered, and sends it again.
"""

from __future__ import annotations

import sys
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template import loader

from console.access import kept_forms
from console.web import sidebar
from console.web.errors import outages
from console.web.htmx import render_form
from console.web.layout import bare_frame

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400: the request cannot be understood."""
    words = "Nothing was changed. Go back, reload the page and try again; a bookmark may be out of date."
    return _show(request, 400, "Bad request", words)


def expired_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer 403: the CSRF token of a form is missing or older than the last login."""
    words = "Nothing was changed. You opened the form before your last login, or your browser blocks cookies."
    advice = "Go back, reload the page and submit the form again."
    return _show(request, 403, "This form has expired", words, advice, sends=_is_ours(request))


def _is_ours(request: HttpRequest) -> bool:
    """Return whether the browser says that a page of this console sent the form, and no other site."""
    return request.headers.get("Origin") == f"{request.scheme}://{request.get_host()}"


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 403: the person's role does not allow the action."""
    reason = str(exception) or "Your role does not allow this action."
    advice = "Nothing was changed. An administrator assigns roles on the page Users & access."
    return _show(request, 403, "Not allowed", reason, advice)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404: the page does not exist. The page shows the sentence of the Http404."""
    said = exception.args[0] if exception.args and isinstance(exception.args[0], str) else ""
    return _show(request, 404, "Page not found", said or "No page has this address. Check the address for a mistake.")


def in_maintenance(request: HttpRequest, words: str) -> HttpResponse:
    """Answer 503: the installation is under maintenance."""
    advice = "Nothing was changed. Send the form again after maintenance has ended."
    return _show(request, 503, "Under maintenance", words, advice)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 503 if the error that is being handled says that the database is away, otherwise 500."""
    if (outage := outages.of(sys.exc_info()[1])) is not None:
        return _away(request, outage)
    words = (
        "Your request may or may not have taken effect: check before you send it again.",
        "The console's log has the error. /healthz reports whether the database answers.",
    )
    context = {"title": "The console failed", "status": 500, "words": words, "frame": bare_frame(request)}
    context["kept"] = kept_forms.refused(request) if _is_ours(request) else None
    return render_form(request, "errors/error.html", context, 500)


def _show(request: HttpRequest, status: int, title: str, *words: str, sends: bool = True) -> HttpResponse:
    """Answer with an error other than an outage: people who are logged in see the error inside the console.

    `sends` is false for a form that another site may have sent.
    """
    context: dict[str, Any] = {"title": title, "status": status, "words": words}
    user = getattr(request, "user", None)  # missing if an early middleware refused the request
    if user is not None and user.is_authenticated:
        context["kept"] = kept_forms.refused(request) if sends and status != 400 else None  # 400: it cannot be read
        return render_form(request, "errors/inside.html", context | {"page": sidebar.nearest_page(request)}, status)
    return render_form(request, "errors/error.html", context | {"frame": bare_frame(request)}, status)


def _away(request: HttpRequest, outage: outages.Outage) -> HttpResponse:
    """Answer 503 with a page that reloads when the database is back; htmx gets a notice."""
    asked = request.method in SAFE_METHODS
    context = {"title": outage.title, "status": 503, "outage": outage, "asked": asked, "frame": bare_frame(request)}
    context["kept"] = kept_forms.refused(request) if _is_ours(request) else None
    page = "errors/_outage.html" if request.headers.get("HX-Request") else "errors/outage.html"
    answer = HttpResponse(loader.render_to_string(page, context, request), status=503)
    answer["Retry-After"] = str(outage.retry_seconds)
    answer["Cache-Control"] = "no-store"
    return answer
