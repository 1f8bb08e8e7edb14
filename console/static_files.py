"""Serves static files straight from the apps' folders, in the way an asynchronous server wants them.

WhiteNoise's own middleware is synchronous and streams, so that under ASGI every request would change threads
twice and each file raise a warning. Ours are small: they are sent whole, and other requests pass untouched.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        file = self._find(request.path_info)
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

    def _find(self, path: str) -> Any:
        return self.find_file(path) if self.autorefresh else self.files.get(path)


async def _ready(response: HttpResponse) -> HttpResponse:
    return response
