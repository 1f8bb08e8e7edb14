"""A notification as a mail, by whichever of Django's backends EMAIL_BACKEND names."""

from __future__ import annotations

from django.conf import settings
from django.core.mail import EmailMessage

from metrics.alerts import news
from metrics.alerts.models import Notification


def send(notification: Notification) -> None:
    """One mail to everybody. Raises what the backend raises."""
    EmailMessage(
        subject=" ".join(news.subject(notification.news).split()),  # a header is one line
        body=news.text(notification.news),
        from_email=settings.ALERTS_MAIL_FROM,
        to=[address.strip() for address in notification.target.split(",")],
        headers={"Auto-Submitted": "auto-generated", "X-Signalbox-Notification": str(notification.pk)},
    ).send()
