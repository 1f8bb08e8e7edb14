"""No answer is kept by browsers or proxies unless its view says so: pages show payloads, or numbers of a moment ago."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin


class NoStoreMiddleware(MiddlewareMixin):
    """Stands behind the static files, which may be kept."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Add the header where the view has none."""
        response.headers.setdefault("Cache-Control", "no-store")
        return response
