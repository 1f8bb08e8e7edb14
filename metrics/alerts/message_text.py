"""The text of a notification: a JSON document for webhooks, and a mail with the same facts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings

from metrics.alerts.models import Alert

VERSION = 1
MAX_ALERTS = 200
"""Limit of alerts in one notification; `more` is the number of the others."""

MAX_IN_CHAT = 20

News = dict[str, Any]


def write(alerts: Sequence[Alert], now: datetime) -> News:
    """Build the document about these alerts, firing ones first."""
    ordered = sorted(alerts, key=lambda alert: (alert.state == Alert.State.RESOLVED, alert.severity, alert.queue_name))
    return {
        "version": VERSION,
        "at": now.isoformat(timespec="seconds"),
        "alerts": [_alert(alert) for alert in ordered[:MAX_ALERTS]],
        "more": max(0, len(ordered) - MAX_ALERTS),
        "url": f"{settings.CONSOLE_URL}/alerts",
    }


def write_test(channel: str, actor: str, now: datetime) -> News:
    """Build the document of a test: an alert whose status is `test`."""
    place = f"{settings.CONSOLE_URL}/alerts/channels"
    alert = dict.fromkeys(("tenant", "queue", "resolved_at"), "") | {
        "status": "test",
        "alert": "SignalboxTest",
        "severity": "info",
        "summary": f"Test of the channel {channel}",
        "description": f"{actor} sent this test. No alert fired.",
        "since": now.isoformat(timespec="seconds"),
        "url": place,
        "runbook_url": f"{settings.CONSOLE_URL}/docs?page=operate/alert-channels",
    }
    return write((), now) | {"alerts": [alert], "url": place}


def subject(news: News) -> str:
    """Write the subject line: the first alert, and the number of others."""
    first, count = news["alerts"][0], len(news["alerts"]) + news["more"]
    of_queue = f" of {first['queue']}" if first["queue"] else ""
    others = f" and {count - 1} more" if count > 1 else ""
    place = f"{settings.ENVIRONMENT}: " if settings.ENVIRONMENT else ""
    return f"[{place}{first['status']}] {first['alert']}{of_queue}{others}"


def text(news: News) -> str:
    """Write the body of a mail."""
    parts = [_paragraph(alert) for alert in news["alerts"]]
    if news["more"]:
        parts.append(f"And {news['more']} more.")
    return "\n\n".join([*parts, f"All alerts: {news['url']}"]) + "\n"


def chat(news: News) -> str:
    """Write the text of a message in a chat: a paragraph for each of the first alerts, with links of Slack's form."""
    shown = [_chat_paragraph(alert) for alert in news["alerts"][:MAX_IN_CHAT]]
    more = len(news["alerts"]) + news["more"] - len(shown)
    return "\n\n".join([*shown, *([f"And {more} more."] if more else []), f"<{news['url']}|All alerts>"])


def _alert(alert: Alert) -> dict[str, str]:
    path = f"/queues/{alert.queue_name}" if alert.queue_name else "/alerts"
    return {
        "status": alert.state,
        "alert": alert.name,
        "severity": alert.severity,
        "tenant": alert.tenant_name,
        "queue": alert.queue_name,
        "summary": alert.summary,
        "description": alert.description,
        "since": alert.starts_at.isoformat(timespec="seconds"),
        "resolved_at": alert.resolved_at.isoformat(timespec="seconds") if alert.resolved_at else "",
        "url": f"{settings.CONSOLE_URL}{path}",
        "runbook_url": f"{settings.CONSOLE_URL}/runbooks/{alert.runbook_url.rpartition('/')[2].removesuffix('.md')}",
    }


def _paragraph(alert: dict[str, str]) -> str:
    end = f", over since {alert['resolved_at']}" if alert["resolved_at"] else ""
    lines = [
        f"{alert['status'].upper()} {alert['alert']} ({alert['severity']})",
        f"{alert['summary']}." if alert["summary"] else "",
        alert["description"],
        f"Since {alert['since']}{end}.",
        alert["url"],
        f"What to do: {alert['runbook_url']}",
    ]
    return "\n".join(line for line in lines if line)


def _chat_paragraph(alert: dict[str, str]) -> str:
    place = f" of {alert['queue']}" if alert["queue"] else ""
    lines = [
        f"*{_plain(alert['status'].upper())}* {_plain(alert['alert'] + place)} ({_plain(alert['severity'])})",
        _plain(alert["description"] or alert["summary"]),
        f"<{alert['url']}|Open> · <{alert['runbook_url']}|What to do>",
    ]
    return "\n".join(line for line in lines if line)


def _plain(text: str) -> str:
    """Escape text so that a chat shows no link, mention or channel in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
