"""The ASGI application of the API: requests without sessions, cookies, middleware or threads.

Django's own handler keeps a thread for each request until the answer is sent, because its signals have synchronous
receivers. A request that waits for messages would keep that thread for twenty seconds. Here each request is one task of
the event loop. Work that uses Django's database connections goes through `database.in_thread`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from io import BytesIO
from typing import Any

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse
from django.urls import URLResolver
from django.urls.exceptions import Resolver404
from django.urls.resolvers import RegexPattern, ResolverMatch

from console.api import openapi
from console.api.core.authentication import key_of, within_limits
from console.api.core.disconnects import ClientGone
from console.api.core.problems import Problem, problem_of
from console.api.core.request_body import read_ahead, read_body
from console.api.routes import PREFIX, api
from metrics.reading.api_requests import API_REQUESTS
from signalbox.tracing.attributes import TRACEPARENT, trace_id_of

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

OPEN_TO_ALL = frozenset({openapi.PATH})
OF_THE_CONSOLE = frozenset({f"{PREFIX}docs"})
METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"})
NOWHERE = "none"
HEADERS_OF_ALL = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))

_resolver = URLResolver(RegexPattern(f"^{PREFIX}"), [one for one in api.urls[0] if one.name != "api-root"])


def is_for(path: str) -> bool:
    """Return whether the API answers this address. The API's documentation is an ordinary page of the console."""
    return path.startswith(PREFIX) and path not in OF_THE_CONSOLE


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request of the API."""
    head_only = scope["method"] == "HEAD"
    measured = Measured(scope["method"])
    try:
        response = await _respond({**scope, "method": "GET"} if head_only else scope, receive, measured)
    except ClientGone:
        measured.ends(None)
        return
    except Exception as error:
        response = problem_of(error).response()
    measured.ends(response.status_code)
    await _send(response, send, head_only=head_only)


async def _respond(scope: Scope, receive: Receive, measured: Measured) -> HttpResponse:
    """Answer a request. Clients without a key are refused first; the body is read only if the address exists."""
    if settings.HTTPS_ONLY and scope.get("scheme") != "https":
        raise Problem("https-required", "Send this request over HTTPS.")
    headers = dict(scope["headers"])
    measured.belongs_to(headers.get(b"traceparent", b""))
    key = None
    if scope["path"] not in OPEN_TO_ALL:
        agent = headers.get(b"user-agent", b"").decode("latin-1")
        key = await key_of(_authorization(scope), f"HTTP API, {agent or 'an unnamed client'}")
    route = _route_of(scope["path"])
    measured.goes_to(route.route)
    request = _request(scope)
    request.key = key
    request.receive = receive
    request.measured = measured
    async with within_limits(key):
        request._body = await read_body(headers, receive)
        await read_ahead(request)
        response: HttpResponse = await route.func(request, *route.args, **route.kwargs)
    if response.status_code == 405 and "Allow" in response:
        allowed = response["Allow"]
        raise Problem("method-not-allowed", f"This address takes {allowed}.", headers={"Allow": allowed})
    return response


def _authorization(scope: Scope) -> str | None:
    """Return the Authorization header. Duplicates are refused, because a proxy may have checked the other one."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(given) > 1:
        raise Problem("unreadable-request", "The header Authorization occurs more than once.")
    return given[0].decode("latin-1") if given else None


def _route_of(path: str) -> ResolverMatch:
    try:
        return _resolver.resolve(path)
    except Resolver404:
        raise Problem("not-found", f"There is nothing at {path[:200]!r}.") from None


def _request(scope: Scope) -> Any:
    try:
        return ASGIRequest(scope, BytesIO())
    except UnicodeDecodeError:
        raise Problem("unreadable-request", "The address or a header is not text.") from None


async def _send(response: HttpResponse, send: Send, *, head_only: bool) -> None:
    headers = [(name.encode("ascii"), value.encode("latin-1")) for name, value in response.items()]
    if response.status_code != HTTPStatus.NO_CONTENT:
        headers.append((b"content-length", str(len(response.content)).encode()))
    else:
        headers = [header for header in headers if header[0].lower() != b"content-type"]
    headers += HEADERS_OF_ALL
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head_only else response.content})


class Measured:
    """The duration of one request from its head to its answer, for `signalbox_api_request_duration_seconds`."""

    def __init__(self, method: str) -> None:
        self._began = time.perf_counter()
        self._method = method if method in METHODS else "other"
        self._route = NOWHERE
        self._waits = ""
        self._trace_id: str | None = None

    def belongs_to(self, traceparent: bytes) -> None:
        """Record the trace of the request, which becomes an exemplar of its duration."""
        self._trace_id = trace_id_of({TRACEPARENT: traceparent.decode("latin-1")})

    def goes_to(self, pattern: str) -> None:
        """Record the route; `pattern` is Django's pattern without the common prefix."""
        self._route = PREFIX + _PARAMETER.sub(r"{\1}", pattern)

    def waits(self) -> None:
        """Record that the request may wait for a time that the client chose. Metrics count such requests separately."""
        self._waits = " waiting"

    def ends(self, status: int | None) -> None:
        """Record the status of the answer; None means that the client closed the connection."""
        outcome = "gone" if status is None else f"{status // 100}xx"
        route = self._route if self._route == NOWHERE else f"{self._method} {self._route}{self._waits}"
        API_REQUESTS.observe(route, outcome, time.perf_counter() - self._began, self._trace_id)


_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
