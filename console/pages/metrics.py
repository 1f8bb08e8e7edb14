"""The queues' numbers for Prometheus: what is not of one queue, and the queues."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console import monitoring_access
from metrics import CONTENT_TYPE, exposition, queue_exposition
from metrics.pages import Answer, UnknownNameError

CLOSED = "METRICS_TOKEN is not set, so only programs of this machine may read metrics. Set it for other machines."
FILTERS = ("tenant", "queue")


@login_not_required
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """GET /metrics: totals and health, by METRICS_TOKEN; where none is set, for this machine only."""
    if not monitoring_access.is_allowed(request):
        return _refused()
    return _answered(request, exposition())


@login_not_required
@never_cache
@require_safe
def queues(request: HttpRequest) -> HttpResponse:
    """GET /metrics/queues[?tenant=&queue=]: every queue, or those of exactly these names; each may be repeated."""
    if not monitoring_access.is_allowed(request):
        return _refused()
    if unknown := sorted(set(request.GET) - set(FILTERS)):
        return _said(f"{unknown[0]!r} is no filter: there are tenant and queue.", 400)
    try:
        return _answered(request, queue_exposition(*(request.GET.getlist(name) for name in FILTERS)))
    except UnknownNameError as error:
        return _said(f"{error}.", 404)


def _answered(request: HttpRequest, answer: Answer) -> HttpResponse:
    compressed = "gzip" in request.headers.get("Accept-Encoding", "")
    response = HttpResponse(answer.gzipped if compressed else answer.plain, content_type=CONTENT_TYPE)
    if compressed:
        response["Content-Encoding"] = "gzip"
    patch_vary_headers(response, ["Accept-Encoding"])
    return response


def _refused() -> HttpResponse:
    if not settings.METRICS_TOKEN:
        return _said(CLOSED, 403)
    return HttpResponse("A bearer token is required.\n", "text/plain", 401, headers={"WWW-Authenticate": "Bearer"})


def _said(text: str, status: int) -> HttpResponse:
    return HttpResponse(f"{text}\n", content_type="text/plain; charset=utf-8", status=status)
