"""Endpoints for programs without a login: /metrics and /healthz, by METRICS_TOKEN or from this machine."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import split_domain_port
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console.web.server import is_loopback
from metrics import health
from metrics.exposition.pages import OPENMETRICS, Answer, UnknownNameError
from metrics.reading.snapshot import fleet_page, queue_page, settings_page

CLOSED = "METRICS_TOKEN is not set, so only programs on this machine can read metrics. Set it for other machines."
FILTERS = ("tenant", "queue")


@login_not_required
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """GET /metrics: totals and health, by METRICS_TOKEN; without a token set, for this machine only."""
    if not is_allowed(request):
        return _refused()
    wants = _wants_openmetrics(request)
    return _answered(request, fleet_page(openmetrics=wants))


@login_not_required
@never_cache
@require_safe
def queue_settings(request: HttpRequest) -> HttpResponse:
    """GET /metrics/settings: the settings of all queues that alerts and dashboards compare numbers with."""
    return _in_format(request, settings_page()) if is_allowed(request) else _refused()


@login_not_required
@never_cache
@require_safe
def queues(request: HttpRequest) -> HttpResponse:
    """GET /metrics/queues[?tenant=&queue=]: metrics of all queues, or of the named ones; names can be repeated."""
    if not is_allowed(request):
        return _refused()
    if unknown := sorted(set(request.GET) - set(FILTERS)):
        return _said(f"{unknown[0]!r} is not a filter. Allowed: tenant, queue.", 400)
    try:
        return _in_format(request, queue_page(*(request.GET.getlist(name) for name in FILTERS)))
    except UnknownNameError as error:
        return _said(f"{error}.", 404)


def _in_format(request: HttpRequest, answer: Answer) -> HttpResponse:
    return _answered(request, answer.openmetrics if _wants_openmetrics(request) else answer)


def _wants_openmetrics(request: HttpRequest) -> bool:
    return OPENMETRICS in request.headers.get("Accept", "")


def _answered(request: HttpRequest, answer: Answer) -> HttpResponse:
    compressed = "gzip" in request.headers.get("Accept-Encoding", "")
    response = HttpResponse(answer.gzipped if compressed else answer.plain, content_type=answer.content_type)
    if compressed:
        response["Content-Encoding"] = "gzip"
    patch_vary_headers(response, ["Accept", "Accept-Encoding"])
    return response


def _refused() -> HttpResponse:
    if not settings.METRICS_TOKEN:
        return _said(CLOSED, 403)
    return HttpResponse("A bearer token is required.\n", "text/plain", 401, headers={"WWW-Authenticate": "Bearer"})


def _said(text: str, status: int) -> HttpResponse:
    return HttpResponse(f"{text}\n", content_type="text/plain; charset=utf-8", status=status)


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """GET /healthz: 200 if every check passes, else 503, with each check in the body.

    Only requests that may read metrics get the numbers.
    """
    report = health.report()
    shown = report.as_dict(with_numbers=is_allowed(request))
    return JsonResponse(shown, status=200 if report.ok else 503)


FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_VIA")
"""Headers of proxies. A request with one of them came from elsewhere, whatever address the server sees."""


def is_allowed(request: HttpRequest) -> bool:
    """Return whether the request has METRICS_TOKEN, or comes directly from this machine if no token is set."""
    expected = settings.METRICS_TOKEN
    if not expected:
        return is_local(request)
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and secrets.compare_digest(token.encode(), expected.encode())


def is_local(request: HttpRequest) -> bool:
    """Return whether the request comes from this machine without a proxy.

    Some proxies and tunnels add no header, but keep the public host name of the request.
    """
    host = split_domain_port(request.META.get("HTTP_HOST", ""))[0].strip("[]").removesuffix(".")
    has_public_host = ("." in host or ":" in host) and not is_loopback(host)
    is_forwarded = any(name in request.META for name in FORWARDED)
    return not is_forwarded and not has_public_host and is_loopback(request.META.get("REMOTE_ADDR", ""))
