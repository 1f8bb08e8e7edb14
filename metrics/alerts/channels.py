"""Channels that administrators set up in the console: where notifications go, and which alerts each channel gets.

Anybody with the URL of a chat or a signing secret can write there. Both are encrypted with SECRET_KEY, no page shows
them again, and notifications hold the channel's number instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from metrics.alerts import silences, webhooks
from metrics.alerts.models import TEXT_CHARACTERS, Alert, AlertChannel, Notification
from metrics.alerts.web_address import is_web_address
from queues import audit
from queues.encryption import InvalidToken, cipher
from queues.errors import InvalidArgument

Kind = AlertChannel.Kind
SEVERITIES = ("critical", "warning")
MAX_CHANNELS = 50
MAX_MAIL_ADDRESSES = 20
MIN_SECRET_CHARACTERS, MAX_SECRET_CHARACTERS = 16, 200
PURPOSE = b"signalbox: addresses of alert channels"


@dataclass(frozen=True)
class Destination:
    """The address of a notification: mail addresses or a URL, and the secret that signs webhooks."""

    address: str
    secret: str = ""


@dataclass(frozen=True)
class ChannelFields:
    """The fields that a person sets. An empty address or secret keeps the present one."""

    name: str
    address: str = ""
    secret: str = ""
    severities: Sequence[str] = SEVERITIES
    queue: str = ""
    tenant: str = ""
    enabled: bool = True


class UnreadableChannelError(Exception):
    """The channel was encrypted with another SECRET_KEY: set SECRET_KEY_FALLBACKS, or type its address again."""


class RemovedChannelError(Exception):
    """The channel was removed."""


def receivers(alerts: Sequence[Alert]) -> Iterable[tuple[AlertChannel, list[Alert]]]:
    """List each channel that is on and gets any of these alerts, with those alerts. One query."""
    for channel in AlertChannel.objects.filter(enabled=True).order_by("channel_id")[:MAX_CHANNELS]:
        if taken := [alert for alert in alerts if takes(channel, alert)]:
            yield channel, taken


def takes(channel: AlertChannel, alert: Alert) -> bool:
    """Tell whether the channel gets this alert: by severity, queue and tenant."""
    return (
        alert.severity in channel.severities
        and silences.fits(channel.queue_pattern, alert.queue_name)
        and silences.fits(channel.tenant_pattern, alert.tenant_name)
    )


def shown_address(kind: str, address: str) -> str:
    """Return mail addresses, and of a URL the host name alone, since the rest may be a secret."""
    return address if kind == Kind.MAIL else urlsplit(address).hostname or ""


def destination(notification: Notification) -> Destination:
    """Find where a notification goes now. Raises `RemovedChannelError` and `UnreadableChannelError`."""
    if notification.alert_channel is None:
        return Destination(notification.target, settings.ALERTS_WEBHOOK_SECRET)
    channel = AlertChannel.objects.filter(pk=notification.alert_channel).first()
    if channel is None:
        raise RemovedChannelError(RemovedChannelError.__doc__)
    return _unseal(channel)


def note_attempt(notification: Notification, now: datetime) -> None:
    """Save the result of the last attempt in the channel, if the notification goes to a channel of the console."""
    if notification.alert_channel is None:
        return
    arrived = notification.state == Notification.State.SENT
    noted = {"last_sent_at": now, "last_error": "", "last_error_at": None}
    failed = {"last_error": notification.last_error, "last_error_at": now}
    AlertChannel.objects.filter(pk=notification.alert_channel).update(**(noted if arrived else failed))


def create(kind: str, fields: ChannelFields, *, actor: str) -> AlertChannel:
    """Create a channel. Raises `InvalidArgument`, which names the field."""
    if kind not in Kind.values:
        raise InvalidArgument(f"kind is {kind[:40]!r}; allowed: {', '.join(Kind.values)}", "kind")
    with transaction.atomic():
        if AlertChannel.objects.count() >= MAX_CHANNELS:
            raise InvalidArgument(f"there are {MAX_CHANNELS} channels: remove one first", "name")
        channel = AlertChannel(kind=kind)
        _write(channel, fields, Destination(""), actor)
        audit.record(actor, "alert.channel_create", None, "", _details(channel))
    return channel


def change(channel_id: int, fields: ChannelFields, *, version: int, actor: str) -> AlertChannel:
    """Change a channel whose `version` the person saw. Raises `InvalidArgument`, which names the field.

    Switching a channel off cancels its waiting notifications.
    """
    with transaction.atomic():
        channel = _locked(channel_id)
        if channel is None:
            raise InvalidArgument("this channel was removed")
        if channel.version != version:
            raise InvalidArgument(f"{channel.changed_by} changed this channel after you opened it: look at it again")
        before, present, channel.version = _details(channel), _readable(channel), version + 1
        _write(channel, fields, present, actor)
        given = ("address", fields.address, present.address), ("secret", fields.secret, present.secret)
        typed = {name: "replaced" for name, new, old in given if new and new != old}
        audit.record(actor, "alert.channel_change", None, "", {"before": before, "after": _details(channel) | typed})
        if not channel.enabled:
            _give_up(channel, "The channel was switched off.")
    return channel


def remove(channel_id: int, *, actor: str, reason: str) -> bool:
    """Remove a channel, and cancel its waiting notifications. False when the channel does not exist."""
    with transaction.atomic():
        channel = _locked(channel_id)
        if channel is None:
            return False
        audit.record(actor, "alert.channel_remove", None, reason, _details(channel))
        _give_up(channel, str(RemovedChannelError.__doc__))
        channel.delete()
        return True


def _write(channel: AlertChannel, fields: ChannelFields, present: Destination, actor: str) -> None:
    address = _address(channel.kind, fields.address) if fields.address else present.address
    written = replace(present, address=address, secret=fields.secret or present.secret)
    _check(channel.kind, fields, written)
    channel.name, channel.enabled, channel.severities = fields.name, fields.enabled, list(fields.severities)
    channel.queue_pattern, channel.tenant_pattern = fields.queue, fields.tenant
    channel.shown = shown_address(channel.kind, address)
    channel.sealed = cipher(PURPOSE).encrypt(json.dumps([written.address, written.secret]).encode()).decode()
    channel.changed_by, channel.changed_at = actor, Now()
    try:
        with transaction.atomic():
            channel.save()
    except IntegrityError:
        raise InvalidArgument(f"name is {fields.name}, which another channel has", "name") from None


def _check(kind: str, fields: ChannelFields, written: Destination) -> None:
    if not fields.name.strip() or len(fields.name) > 100 or not fields.name.isprintable():
        raise InvalidArgument("name must have 1 to 100 printable characters", "name")
    if not written.address:
        raise InvalidArgument("address is missing", "address")
    if not fields.severities or not set(fields.severities) <= set(SEVERITIES):
        raise InvalidArgument(f"severities must name one or more of {', '.join(SEVERITIES)}", "severities")
    length, is_signed = len(written.secret), kind == Kind.WEBHOOK
    if is_signed and not MIN_SECRET_CHARACTERS <= length <= MAX_SECRET_CHARACTERS:
        allowed = f"{MIN_SECRET_CHARACTERS} to {MAX_SECRET_CHARACTERS}"
        raise InvalidArgument(f"secret has {length} characters; allowed: {allowed}", "secret")
    if length and not is_signed:
        raise InvalidArgument("secret must be empty: only webhooks are signed", "secret")
    silences.check_pattern("queue", fields.queue, 100)
    silences.check_pattern("tenant", fields.tenant, 100)


def _address(kind: str, text: str) -> str:
    if len(text) > TEXT_CHARACTERS:
        raise InvalidArgument(f"address has {len(text)} characters; allowed: {TEXT_CHARACTERS}", "address")
    return _mail_addresses(text) if kind == Kind.MAIL else _url(text)


def _mail_addresses(text: str) -> str:
    addresses = [part.strip() for part in text.split(",") if part.strip()]
    if len(addresses) > MAX_MAIL_ADDRESSES:
        raise InvalidArgument(f"address names {len(addresses)}; allowed: {MAX_MAIL_ADDRESSES}", "address")
    for address in addresses:
        try:
            validate_email(address)
        except ValidationError:
            raise InvalidArgument(f"address has {address[:100]!r}, which is not a mail address", "address") from None
    return ", ".join(addresses)


def _url(text: str) -> str:
    schemes = ("https", "http") if settings.ALERTS_WEBHOOK_HTTP else ("https",)
    if not is_web_address(text, schemes):
        raise InvalidArgument(f"address must be a URL with {' or '.join(schemes)}, without a user name", "address")
    if webhooks.is_private_literal(text):
        raise InvalidArgument("address is a private address, which ALERTS_WEBHOOK_PRIVATE does not allow", "address")
    return text


def _unseal(channel: AlertChannel) -> Destination:
    try:
        return Destination(*json.loads(cipher(PURPOSE).decrypt(channel.sealed)))
    except InvalidToken:
        raise UnreadableChannelError(UnreadableChannelError.__doc__) from None


def _readable(channel: AlertChannel) -> Destination:
    """Return the present destination; an empty one when it cannot be decrypted, so that it must be typed again."""
    try:
        return _unseal(channel)
    except UnreadableChannelError:
        return Destination("")


def _locked(channel_id: int) -> AlertChannel | None:
    return AlertChannel.objects.select_for_update().filter(pk=channel_id).first()


def _give_up(channel: AlertChannel, why: str) -> None:
    waiting = Notification.objects.filter(alert_channel=channel.pk, state=Notification.State.WAITING)
    waiting.update(state=Notification.State.FAILED, last_error=why)


def _details(channel: AlertChannel) -> dict[str, Any]:
    return {
        "channel": channel.name,
        "kind": channel.kind,
        "to": channel.shown,
        "severities": channel.severities,
        "queue": channel.queue_pattern or "*",
        "tenant": channel.tenant_pattern or "*",
        "enabled": channel.enabled,
    }
