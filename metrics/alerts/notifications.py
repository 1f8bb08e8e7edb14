"""Telling people: a row for each channel, written with the news, and sent again until it has arrived.

Whoever sends takes a row for LEASE and tries; one that dies in between leaves it to be tried again. So every message
arrives at least once, rarely twice, and the last error stands beside it for people to see.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from metrics.alerts import mail, news, webhooks
from metrics.alerts.models import TEXT_CHARACTERS, Alert, Notification

LEASE = timedelta(minutes=2)  # longer than any attempt may take
MOST_ATTEMPTS = 15  # some five hours
FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 3_600.0

log = logging.getLogger(__name__)

Send = Callable[[Notification], None]
SENDERS: dict[str, Send] = {Notification.Channel.MAIL: mail.send, Notification.Channel.WEBHOOK: webhooks.send}


def write(alerts: Sequence[Alert], now: datetime) -> int:
    """One row for each channel that is configured, due at once; how many. Part of the caller's transaction."""
    if not alerts:
        return 0
    told = news.write(alerts, now)
    rows = [Notification(channel=channel, target=target, news=told, due_at=now) for channel, target in channels()]
    return len(Notification.objects.bulk_create(rows))


def channels() -> list[tuple[str, str]]:
    """(channel, target) of everybody who is told, by the settings."""
    mails = [(Notification.Channel.MAIL.value, ", ".join(settings.ALERTS_MAIL_TO))] if settings.ALERTS_MAIL_TO else []
    return [*mails, *((Notification.Channel.WEBHOOK.value, url) for url in settings.ALERTS_WEBHOOKS)]


def deliver(now: datetime | None = None, most: int = 100) -> int:
    """Try every row that is due, at most `most`; how many arrived. Several processes may: each takes other rows."""
    arrived = 0
    for _ in range(most):
        row = _take(now or timezone.now())
        if row is None:
            break
        arrived += _attempt(row, now)
    return arrived


def pause_seconds(attempts: int) -> float:
    """How long after so many attempts the next one follows."""
    return float(min(FIRST_PAUSE_SECONDS * 2.0 ** (attempts - 1), LONGEST_PAUSE_SECONDS))


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
    """No transaction is open meanwhile: others are not held up by a slow receiver."""
    try:
        SENDERS[row.channel](row)
    except Exception as error:  # whatever a mail server or a receiver comes up with
        _note_failure(row, error, now or timezone.now())
        return False
    row.state, row.sent_at, row.last_error = Notification.State.SENT, now or timezone.now(), ""
    row.save(update_fields=["state", "sent_at", "last_error"])
    return True


def _note_failure(row: Notification, error: Exception, now: datetime) -> None:
    row.last_error = f"{type(error).__name__}: {error}".replace("\0", "")[:TEXT_CHARACTERS]
    row.due_at = now + timedelta(seconds=pause_seconds(row.attempts))
    if row.attempts >= MOST_ATTEMPTS:
        row.state = Notification.State.FAILED
    row.save(update_fields=["last_error", "due_at", "state"])
    log.warning("notification %s did not arrive (attempt %s): %s", row.pk, row.attempts, row.last_error)
