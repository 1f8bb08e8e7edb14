"""Alerts: what fires, what is over, and the door at which Alertmanager delivers them."""

from __future__ import annotations

import json
import secrets

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from console import alert_filter, alert_lines, keyset, runbook_text, runbooks
from console.filterbar import FilterBar, Suggestion, typed
from console.htmx import render_page
from console.roles import reach, requires
from console.wording import plural
from dlq.filters import FilterError
from metrics.alerts import episodes, receiving
from metrics.alerts.models import Alert
from queues.errors import InvalidArgument


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /alerts: what fires, worst first, then what is over, the newest first."""
    alerts, mistake = alert_lines.alerts_within(reach(request.user, "see_metadata")), None
    try:
        alerts = alert_filter.select(alerts, typed(request))
    except FilterError as error:
        mistake = error
    firing = episodes.firing(among=alerts)  # read first: what ends in between is in both lists, not in none
    page = keyset.by_id(episodes.told(alerts).filter(state=Alert.State.RESOLVED), "alert_id", request)
    context = {
        "title": "Alerts",
        "firing": alert_lines.lines(firing),
        "over": alert_lines.lines(episodes.merge(page.rows)),
        "pager": keyset.pager(request, page, f"{plural(len(page.rows), 'resolved alert')} shown"),
        "bar": FilterBar(
            text=typed(request),
            label="Filter alerts",
            action=reverse("alerts"),
            placeholder="queue: alert: severity: state: source:",
            keys=[Suggestion(f"{name}:", key.help) for name, key in alert_filter.KEYS.items()],
            example="queue:orders state:firing",
            mistake=mistake,
        ),
    }
    return render_page(request, "alerts/browse.html", "alerts/_list.html", context)


@require_safe
@requires("see_metadata", in_part=True)
def runbook(request: HttpRequest, name: str) -> HttpResponse:
    """GET /runbooks/<name>: what to do about an alert of ours."""
    text = runbooks.text_of(name)
    if text is None:
        raise Http404(f"There is no runbook called {name}.")
    context = {"title": name, "text": runbook_text.to_html(text)}
    return render_page(request, "alerts/runbook.html", "alerts/_runbook.html", context)


@csrf_exempt
@login_not_required
@never_cache
@require_POST
def webhook(request: HttpRequest) -> HttpResponse:
    """POST /alerts/webhook: what Alertmanager tells, as its version 4; who bears ALERTMANAGER_TOKEN may."""
    if refusal := _refusal(request):
        return refusal
    try:
        received = receiving.receive(json.loads(request.body))
    except RequestDataTooBig:
        return _problem(413, "body", f"the body is larger than {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes")
    except InvalidArgument as error:
        return _problem(400, error.field or "body", str(error))
    except (ValueError, RecursionError):
        return _problem(400, "body", "the body is not JSON")
    return JsonResponse({"firing": received.firing, "resolved": received.resolved})


def _refusal(request: HttpRequest) -> HttpResponse | None:
    """Why this caller may not deliver; None when it may. The body is not looked at before."""
    if not settings.ALERTMANAGER_TOKEN:
        return _problem(403, "Authorization", "no alerts are accepted: ALERTMANAGER_TOKEN is not set")
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secrets.compare_digest(token.encode(), settings.ALERTMANAGER_TOKEN.encode()):
        answer = _problem(401, "Authorization", "a bearer token is required, and this is not it")
        answer["WWW-Authenticate"] = "Bearer"
        return answer
    return None


def _problem(status: int, field: str, words: str) -> JsonResponse:
    return JsonResponse({"field": field, "error": words}, status=status)
