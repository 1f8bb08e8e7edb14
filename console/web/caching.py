"""Delivery of answers: static files, which caches keep; pages, which no cache stores; and both compressed.

WhiteNoise's own middleware is synchronous and streams: under ASGI every request would change threads twice, and each
file would raise a warning. Signalbox's files are small: they are sent whole, and other requests pass untouched.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.deprecation import MiddlewareMixin
from whitenoise.middleware import WhiteNoiseMiddleware

TEXT = ("text/", "application/json", "application/javascript", "image/svg+xml")
"""Types of content that gzip makes smaller."""
OUR_OWN = ("same-origin", "none")
"""Values of the header Sec-Fetch-Site in requests of the console's own pages, or of the person's address bar."""


class CompressionMiddleware(GZipMiddleware):
    """Middleware that compresses answers, except where their length could tell another site something (BREACH)."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Compress text, except streams: updates of `/live` must arrive one by one."""
        is_text = response.headers.get("Content-Type", "").startswith(TEXT)
        if response.streaming or response.status_code == 206 or not is_text or _may_be_provoked(request):
            return response
        compressed: HttpResponseBase = super().process_response(request, response)
        return compressed


def _may_be_provoked(request: HttpRequest) -> bool:
    """Return whether another site may have caused this request for a page of a logged-in person."""
    if request.path_info.startswith(settings.STATIC_URL) or settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return False
    return request.headers.get("Sec-Fetch-Site", "") not in OUR_OWN


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """Middleware that serves static files whole, for synchronous and asynchronous servers."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        path = request.path_info
        file = self.find_file(path) if self.autorefresh else self.files.get(path)
        if file is None:
            return self.get_response(request)
        response = self.serve(file, request)
        return _ready(response) if iscoroutinefunction(self) else response

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        """Answer with the file; a compressed file has a weak ETag, which stands for the same file."""
        known = request.META.get("HTTP_IF_NONE_MATCH", "").removeprefix("W/")
        found = static_file.get_response(
            request.method, request.META | ({"HTTP_IF_NONE_MATCH": known} if known else {})
        )
        body = b""
        if found.file is not None:
            with found.file as file:
                body = file.read()
        response = HttpResponse(body, status=int(found.status))
        del response["Content-Type"]
        for name, value in found.headers:
            response[name] = value
        return response


async def _ready(response: HttpResponse) -> HttpResponse:
    return response


class NoStoreMiddleware(MiddlewareMixin):
    """Forbids caches to store pages; static files, which may be kept, are served before it."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Add the header where the view has none."""
        response.headers.setdefault("Cache-Control", "no-store")
        return response
