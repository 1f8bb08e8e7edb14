"""Whether the installation can do its work, for machines that ask."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console import monitoring_access
from metrics import health


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """GET /healthz: 200 when all is well, else 503; the body has each check.

    Only requests that may read metrics get the numbers.
    """
    report = health.report()
    shown = report.as_dict(with_numbers=monitoring_access.is_allowed(request))
    return JsonResponse(shown, status=200 if report.ok else 503)
