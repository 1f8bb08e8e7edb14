"""Pages for what went wrong: each says what happened and what to do next."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console import preferences


class _Doorframe:
    """The part of a frame that an error page needs; it must not touch the database that may be the error."""

    def __init__(self, request: HttpRequest) -> None:
        self.preferences = preferences.read(request)
        self.breaching = 0


def _show(request: HttpRequest, status: int, title: str, words: list[str]) -> HttpResponse:
    context = {"title": title, "status": status, "words": words, "frame": _Doorframe(request)}
    return render(request, "errors/error.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: the request cannot be understood."""
    return _show(
        request,
        400,
        "This request cannot be understood",
        ["Nothing was changed. Go back, reload the page and try again; a bookmark may be out of date."],
    )


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: the person's role does not allow it."""
    reason = str(exception) or "Your role may not do this."
    return _show(
        request,
        403,
        "Not allowed",
        [reason, "Nothing was changed. An administrator gives roles, under People."],
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: nothing lives at this address. Http404 raised with a sentence shows it."""
    said = exception.args[0] if exception.args and isinstance(exception.args[0], str) else ""
    return _show(
        request,
        404,
        "Not found",
        [
            said or "Nothing lives at this address.",
            "Messages leave with their queue's retention; queues are listed in the overview.",
        ],
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """500: a fault of ours, or the database is away."""
    return _show(
        request,
        500,
        "The console failed to answer",
        [
            "What you sent may or may not have been done: look before you send it again.",
            "The server's log says what happened. /healthz says whether the database answers.",
        ],
    )
