"""Notify people by mail and webhook: a row for each channel, written with the alerts and sent until it arrives.

A sender leases a row for LEASE and tries; when the sender dies, another tries after the lease. So every notification
arrives at least once, rarely twice, and pages show its last error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.utils import timezone

from metrics.alerts import message_text, webhooks
from metrics.alerts.models import TEXT_CHARACTERS, Alert, Notification

LEASE = timedelta(minutes=2)  # longer than any attempt may take
MAX_ATTEMPTS = 15  # some five hours
FIRST_PAUSE_SECONDS = 5.0
MAX_PAUSE_SECONDS = 3_600.0

log = logging.getLogger(__name__)


def write(alerts: Sequence[Alert], now: datetime) -> int:
    """Write one row for each configured channel, due at once, in the caller's transaction; return how many."""
    if not alerts:
        return 0
    news = message_text.write(alerts, now)
    rows = [Notification(channel=channel, target=target, news=news, due_at=now) for channel, target in channels()]
    return len(Notification.objects.bulk_create(rows))


def channels() -> list[tuple[str, str]]:
    """List (channel, target) of every receiver that the settings name."""
    mails = [(Notification.Channel.MAIL.value, ", ".join(settings.ALERTS_MAIL_TO))] if settings.ALERTS_MAIL_TO else []
    return [*mails, *((Notification.Channel.WEBHOOK.value, url) for url in settings.ALERTS_WEBHOOKS)]


def deliver(now: datetime | None = None, most: int = 100) -> int:
    """Send due notifications, at most `most`; return how many arrived. Several processes may do so at once."""
    arrived = 0
    for _ in range(most):
        row = _take(now or timezone.now())
        if row is None:
            break
        arrived += _attempt(row, now)
    return arrived


def pause_seconds(attempts: int) -> float:
    """Compute the pause after this number of attempts."""
    return float(min(FIRST_PAUSE_SECONDS * 2.0 ** (attempts - 1), MAX_PAUSE_SECONDS))


def _take(now: datetime) -> Notification | None:
    with transaction.atomic():
        due = Notification.objects.filter(state=Notification.State.WAITING, due_at__lte=now).order_by("due_at")
        row = due.select_for_update(skip_locked=True).first()
        if row is not None:
            row.attempts += 1
            row.due_at = now + LEASE
            row.save(update_fields=["attempts", "due_at"])
        return row


def _attempt(row: Notification, now: datetime | None) -> bool:
    """Send one notification outside of any transaction, so that a slow receiver blocks no other."""
    try:
        SENDERS[row.channel](row)
    except Exception as error:  # a mail server or a receiver may fail in any way
        _note_failure(row, error, now or timezone.now())
        return False
    row.state, row.sent_at, row.last_error = Notification.State.SENT, now or timezone.now(), ""
    row.save(update_fields=["state", "sent_at", "last_error"])
    return True


def _send_mail(notification: Notification) -> None:
    """Send one mail to every address, by the backend that EMAIL_BACKEND names. Raises what the backend raises."""
    EmailMessage(
        subject=" ".join(message_text.subject(notification.news).split()),  # a header is one line
        body=message_text.text(notification.news),
        from_email=settings.ALERTS_MAIL_FROM,
        to=[address.strip() for address in notification.target.split(",")],
        headers={"Auto-Submitted": "auto-generated", "X-Signalbox-Notification": str(notification.pk)},
    ).send()


SENDERS: dict[str, Callable[[Notification], None]] = {
    Notification.Channel.MAIL: _send_mail,
    Notification.Channel.WEBHOOK: webhooks.send,
}


def _note_failure(row: Notification, error: Exception, now: datetime) -> None:
    row.last_error = f"{type(error).__name__}: {error}".replace("\0", "")[:TEXT_CHARACTERS]
    row.due_at = now + timedelta(seconds=pause_seconds(row.attempts))
    if row.attempts >= MAX_ATTEMPTS:
        row.state = Notification.State.FAILED
    row.save(update_fields=["last_error", "due_at", "state"])
    log.warning("notification %s did not arrive (attempt %s): %s", row.pk, row.attempts, row.last_error)
