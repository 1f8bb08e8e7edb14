"""Notify people by mail and webhook: a row for each channel, written with the alerts and sent until it arrives.

A sender leases a row for LEASE and tries; when the sender dies, another tries after the lease. So every notification
arrives at least once, rarely twice, and pages show its last error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.utils import timezone

from metrics.alerts import channels, message_text, webhooks
from metrics.alerts.channels import Destination, Kind
from metrics.alerts.models import TEXT_CHARACTERS, Alert, AlertChannel, Notification
from queues import audit

LEASE = timedelta(minutes=2)  # longer than any attempt may take
MAX_ATTEMPTS = 15  # some five hours
FIRST_PAUSE_SECONDS = 5.0
MAX_PAUSE_SECONDS = 3_600.0


@dataclass(frozen=True)
class Attempt:
    """The result of one attempt: whether the notification arrived, and the answer of its receiver or the error."""

    arrived: bool
    answer: str


log = logging.getLogger(__name__)


def write(alerts: Sequence[Alert], now: datetime) -> int:
    """Write one row for each channel that gets any of these alerts, due at once; return how many.

    The rows belong to the caller's transaction.
    """
    if not alerts:
        return 0
    news = message_text.write(alerts, now)
    rows = [Notification(channel=kind, target=target, news=news, due_at=now) for kind, target in set_by_environment()]
    for channel, taken in channels.receivers(alerts):
        rows.append(_row(channel, message_text.write(taken, now), now))
    return len(Notification.objects.bulk_create(rows))


def set_by_environment() -> list[tuple[str, str]]:
    """List (kind, target) of every receiver that the settings name."""
    mails = [(Kind.MAIL.value, ", ".join(settings.ALERTS_MAIL_TO))] if settings.ALERTS_MAIL_TO else []
    return [*mails, *((Kind.WEBHOOK.value, url) for url in settings.ALERTS_WEBHOOKS)]


def send_test(channel: AlertChannel, *, actor: str, now: datetime | None = None) -> Attempt:
    """Send a test to one channel at once, even if it is off, with one attempt. Return the result."""
    now = now or timezone.now()
    with transaction.atomic():
        row = _row(channel, message_text.write_test(channel.name, actor, now), now + LEASE)
        row.attempts = MAX_ATTEMPTS
        row.save()
        details = {"channel": channel.name, "kind": channel.kind, "to": channel.shown}
        audit.record(actor, "alert.channel_test", None, "", details)
    return _attempt(row, now)


def _row(channel: AlertChannel, news: message_text.News, due_at: datetime) -> Notification:
    target = f"{channel.name} ({channel.shown})"[:TEXT_CHARACTERS]
    return Notification(channel=channel.kind, target=target, alert_channel=channel.pk, news=news, due_at=due_at)


def deliver(now: datetime | None = None, most: int = 100) -> int:
    """Send due notifications, at most `most`; return how many arrived. Several processes may do so at once."""
    arrived = 0
    for _ in range(most):
        row = _take(now or timezone.now())
        if row is None:
            break
        arrived += _attempt(row, now).arrived
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


def _attempt(row: Notification, now: datetime | None) -> Attempt:
    """Send one notification outside of any transaction, so that a slow receiver blocks no other."""
    attempt = _send(row, now)
    channels.note_attempt(row, now or timezone.now())
    return attempt


def _send(row: Notification, now: datetime | None) -> Attempt:
    try:
        answer = SENDERS[row.channel](row, channels.destination(row))
    except Exception as error:  # a mail server or a receiver may fail in any way
        _note_failure(row, error, now or timezone.now())
        answered = f"The receiver answered {error.answer}" if isinstance(error, webhooks.NotAcceptedError) else ""
        return Attempt(False, answered or row.last_error)
    row.state, row.sent_at, row.last_error = Notification.State.SENT, now or timezone.now(), ""
    row.save(update_fields=["state", "sent_at", "last_error"])
    return Attempt(True, answer)


def _send_mail(notification: Notification, to: Destination) -> str:
    """Send one mail to every address, by the backend that EMAIL_BACKEND names. Raises what the backend raises."""
    EmailMessage(
        subject=" ".join(message_text.subject(notification.news).split()),  # a header is one line
        body=message_text.text(notification.news),
        from_email=settings.ALERTS_MAIL_FROM,
        to=[address.strip() for address in to.address.split(",")],
        headers={"Auto-Submitted": "auto-generated", "X-Signalbox-Notification": str(notification.pk)},
    ).send()
    return "The mail server accepted the mail"


def _send_webhook(notification: Notification, to: Destination) -> str:
    return f"The receiver answered {webhooks.send(notification, to.address, to.secret)}"


def _send_to_chat(notification: Notification, to: Destination) -> str:
    return f"The receiver answered {webhooks.send_to_chat(notification, to.address)}"


SENDERS: dict[str, Callable[[Notification, Destination], str]] = {
    Kind.MAIL: _send_mail,
    Kind.WEBHOOK: _send_webhook,
    Kind.SLACK: _send_to_chat,
}


def _note_failure(row: Notification, error: Exception, now: datetime) -> None:
    row.last_error = f"{type(error).__name__}: {error}".replace("\0", "")[:TEXT_CHARACTERS]
    row.due_at = now + timedelta(seconds=pause_seconds(row.attempts))
    if row.attempts >= MAX_ATTEMPTS or isinstance(error, channels.RemovedChannelError):
        row.state = Notification.State.FAILED
    row.save(update_fields=["last_error", "due_at", "state"])
    log.warning("notification %s did not arrive (attempt %s): %s", row.pk, row.attempts, row.last_error)
