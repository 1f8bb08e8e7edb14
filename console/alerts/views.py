"""Alerts: the page of firing and resolved ones, the webhook for Alertmanager, notifications and runbooks."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from console.access import suggestions
from console.access.roles import reach, requires
from console.alerts import causes, runbooks
from console.alerts import lines as alert_lines
from console.filters.filter_bar import FilterBar, Suggestion, typed
from console.filters.list_explanations import explain
from console.filters.list_filter_grammar import Key, select
from console.web import pagination
from console.web.htmx import render_page
from console.web.sidebar import Badge
from console.web.sorting import Columns, arrange_newest
from console.web.wording import plural
from dlq.filters import FilterError
from metrics.alerts import alert_list, message_text, receiving
from metrics.alerts import notifications as deliveries
from metrics.alerts.alert_list import Episode
from metrics.alerts.channels import shown_address
from metrics.alerts.models import Alert, AlertChannel, Notification
from queues.errors import InvalidArgument

KEYS = {
    "queue": Key("The queue of the alert.", read=lambda text: Q(queue_name=text)),
    "tenant": Key("The tenant of the queue.", read=lambda text: Q(tenant_name=text)),
    "alert": Key(
        "Part of the alert's name. Words without a key search the name.", read=lambda text: Q(name__icontains=text)
    ),
    "severity": Key("The severity: critical or warning.", read=lambda text: Q(severity=text)),
    "state": Key(
        "The state: firing or resolved.",
        (Alert.State.FIRING.value, Alert.State.RESOLVED.value),
        lambda text: Q(state=text),
    ),
    "source": Key("The source: prometheus or console.", tuple(Alert.Source.values), lambda text: Q(source=text)),
}


def firing(request: HttpRequest) -> Badge:
    """Count the causes of alerts that fire and are not silenced."""
    count = causes.count(alert_lines.loud(request))
    return Badge(count, f"{plural(count, 'alert')} firing", "bad")


RESOLVED_COLUMNS: Columns[Alert] = {
    "alert": lambda one: Episode([one]).sentence,
    "queue": lambda one: one.queue_name,
    "source": lambda one: alert_lines.SOURCES.get(one.source, one.source),
    "resolved": lambda one: one.resolved_at,
}


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /alerts: firing alerts by cause, the most severe first, then resolved alerts, the newest first."""
    alerts, mistake = alert_lines.alerts_within(reach(request.user, "see_metadata")), None
    try:
        alerts = select(alerts, typed(request), KEYS, wordless="alert")
    except FilterError as error:
        mistake = error
    firing = alert_list.firing(among=alerts)  # read first: an alert that ends now is in both lists
    resolved = alert_list.shown(alerts).filter(state=Alert.State.RESOLVED)
    listed = arrange_newest(request, resolved, "alert_id", RESOLVED_COLUMNS, time="fired")
    page = listed.page
    context = {
        "title": "Alerts",
        "firing": causes.group(alert_lines.lines(firing)),
        "watchdog_missed_since": alert_lines.watchdog_missed_since(),
        "over": alert_lines.lines(alert_list.merge(page.rows)),
        "sort": listed.links,
        "pager": pagination.pager(request, page, f"{plural(len(page.rows), 'resolved alert')} shown{listed.limits}"),
        "explanations": [] if firing or page.rows else explain(request, typed(request), KEYS, "alert"),
        "list": {"action": f"{reverse('alerts')}?q="},
        "bar": FilterBar(
            text=typed(request),
            label="Filter alerts",
            action=reverse("alerts"),
            placeholder="queue: alert: severity: state: source:",
            keys=[Suggestion(f"{name}:", key.help) for name, key in KEYS.items()],
            example="queue:orders state:firing",
            mistake=mistake,
        ),
    }
    return render_page(request, "alerts/browse.html", "alerts/_list.html", context)


@require_safe
@requires("see_metadata", in_part=True)
def runbook(request: HttpRequest, name: str) -> HttpResponse:
    """GET /runbooks/<name>?queue=: the runbook of an alert of Signalbox, with the queue's name filled in."""
    text, queue = runbooks.text_of(name), request.GET.get("queue", "")[:100]
    if text is None:
        raise Http404(f"There is no runbook called {name}.")
    context = {
        "title": name,
        "text": runbooks.to_html(text, queue),
        "queue": queue,
        "queue_url": reverse("queue", args=[queue]) if runbooks.is_queue_name(queue) else "",
        "choices": suggestions.queue_names(request) if runbooks.asks_for_queue(text, queue) else None,
    }
    return render_page(request, "alerts/runbook.html", "alerts/_runbook.html", context)


@csrf_exempt
@login_not_required
@never_cache
@require_POST
def webhook(request: HttpRequest) -> HttpResponse:
    """POST /alerts/webhook: store alerts from Alertmanager (webhook version 4). Requires ALERTMANAGER_TOKEN."""
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
    """Return the refusal of a caller without the token; None if the caller may deliver. Does not read the body."""
    if not settings.ALERTMANAGER_TOKEN:
        return _problem(403, "Authorization", "no alerts are accepted: ALERTMANAGER_TOKEN is not set")
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secrets.compare_digest(token.encode(), settings.ALERTMANAGER_TOKEN.encode()):
        answer = _problem(401, "Authorization", "the bearer token is missing or wrong")
        answer["WWW-Authenticate"] = "Bearer"
        return answer
    return None


def _problem(status: int, field: str, words: str) -> JsonResponse:
    return JsonResponse({"field": field, "error": words}, status=status)


@dataclass(frozen=True)
class Row:
    """One message as the table shows it."""

    notification: Notification

    @property
    def icon(self) -> str:
        return {"sent": "done", "failed": "failed"}.get(self.notification.state, "scheduled")

    @property
    def subject(self) -> str:
        return message_text.subject(self.notification.news)

    @property
    def target(self) -> str:
        """Name the recipient. For a webhook, show only the host: the rest of the address may be a secret."""
        one = self.notification
        return one.target if one.alert_channel is not None else shown_address(one.channel, one.target)


COLUMNS: Columns[Notification] = {
    "message": lambda one: message_text.subject(one.news),
    "to": lambda one: one.target,
    "attempts": lambda one: one.attempts,
    "delivered": lambda one: one.sent_at,
}


@require_safe
@requires("see_metadata")
def notifications(request: HttpRequest) -> HttpResponse:
    """GET /alerts/notifications: every message, newest first."""
    listed = arrange_newest(request, Notification.objects.all(), "notification_id", COLUMNS, time="created")
    page = listed.page
    context = {
        "title": "Notifications",
        "rows": [Row(one) for one in page.rows],
        "sort": listed.links,
        "pager": pagination.pager(request, page, f"{plural(len(page.rows), 'message')} shown{listed.limits}"),
        "has_channels": deliveries.set_by_environment() or AlertChannel.objects.filter(enabled=True).exists(),
    }
    return render_page(request, "alerts/notifications.html", "alerts/_notifications.html", context)
