"""Static files, which caches keep, and pages, which none keeps unless its view says so.

WhiteNoise's own middleware is synchronous and streams, so that under ASGI every request would change threads
twice and each file raise a warning. Ours are small: they are sent whole, and other requests pass untouched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFilesMiddleware(WhiteNoiseMiddleware):
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
        found = static_file.get_response(request.method, request.META)
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
