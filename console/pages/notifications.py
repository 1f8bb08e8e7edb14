"""Notifications: what the console told whom about alerts, what did not arrive yet, and why."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console import keyset
from console.htmx import render_page
from console.roles import requires
from console.wording import plural
from metrics.alerts import news
from metrics.alerts.models import Notification


@dataclass(frozen=True)
class Row:
    """One message as the table shows it."""

    notification: Notification

    @property
    def icon(self) -> str:
        return {"sent": "done", "failed": "failed"}.get(self.notification.state, "scheduled")

    @property
    def subject(self) -> str:
        return news.subject(self.notification.news)

    @property
    def target(self) -> str:
        """Whom; of a webhook the host alone, since the rest of its address may be a secret."""
        if self.notification.channel == Notification.Channel.MAIL:
            return self.notification.target
        return urlsplit(self.notification.target).hostname or ""


@require_safe
@requires("see_metadata")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /alerts/notifications: every message, newest first."""
    page = keyset.by_id(Notification.objects.all(), "notification_id", request)
    context = {
        "title": "Notifications",
        "rows": [Row(one) for one in page.rows],
        "pager": keyset.pager(request, page, f"{plural(len(page.rows), 'message')} shown"),
        "mails": len(settings.ALERTS_MAIL_TO),
        "webhooks": len(settings.ALERTS_WEBHOOKS),
    }
    return render_page(request, "alerts/notifications.html", "alerts/_notifications.html", context)
