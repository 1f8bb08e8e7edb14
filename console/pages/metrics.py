"""The queues' numbers for Prometheus."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from metrics import CONTENT_TYPE, exposition


@login_not_required
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """GET /metrics; with METRICS_TOKEN set, only for those who bear it."""
    if not _bears_the_token(request):
        return HttpResponse("A bearer token is required.\n", "text/plain", 401, headers={"WWW-Authenticate": "Bearer"})
    return HttpResponse(exposition(), content_type=CONTENT_TYPE)


def _bears_the_token(request: HttpRequest) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    expected = settings.METRICS_TOKEN
    return not expected or (scheme.lower() == "bearer" and secrets.compare_digest(token.encode(), expected.encode()))
