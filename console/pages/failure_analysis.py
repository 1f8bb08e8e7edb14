"""Failures of the archive by their template: what fails in all queues, since when, how much, and where it is going."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from console import failure_findings
from console.htmx import render_page
from console.roles import requires
from pipeline.analysis.analysis_models import Template

SHOWN = 100


@require_safe
@requires("see_metadata")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /pipeline/failures: the templates with the most failures, or those of one trend."""
    made = failure_findings.last_made()
    trend = request.GET.get("trend", "")
    query = Template.objects.order_by("-failures", "template")
    if trend in Template.Trend.values:
        query = query.filter(trend=trend)
    found = list(query[: SHOWN + 1]) if made else []
    context = {
        "title": "Failure analysis",
        "made": made,
        "rows": failure_findings.template_rows(found[:SHOWN], made) if made else [],
        "more": len(found) > SHOWN,
        "trend": trend,
        "choices": [(_address(one), label, one == trend) for one, label in [("", "All"), *Template.Trend.choices]],
    }
    return render_page(request, "failure_analysis/browse.html", "failure_analysis/_list.html", context)


def _address(trend: str) -> str:
    address = reverse("failure_analysis")
    return f"{address}?{urlencode({'trend': trend})}" if trend else address
