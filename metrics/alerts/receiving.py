"""Receive alerts from Alertmanager: check each field, and keep one row for each (fingerprint, startsAt).

Receiving a message twice changes nothing. The last message about an alert wins: Alertmanager sends the messages of one
group in order. When messages are lost, an alert stays visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from metrics.alerts.models import NAME_CHARACTERS, TEXT_CHARACTERS, Alert
from queues.errors import InvalidArgument

VERSION = "4"
MAX_ALERTS = 5_000
MAX_LABELS = 64

KEPT = (
    "state",
    "name",
    "severity",
    "tenant_name",
    "queue_name",
    "summary",
    "description",
    "runbook_url",
    "labels",
    "seen_at",
    "resolved_at",
)


@dataclass(frozen=True)
class Received:
    """The number of alerts of a message that fire, and of those that are resolved."""

    firing: int
    resolved: int


def receive(message: Any) -> Received:
    """Keep every alert of one message. Raises `InvalidArgument`, which names the field."""
    alerts = read(message)
    with transaction.atomic():
        Alert.objects.bulk_create(
            alerts, update_conflicts=True, unique_fields=["source", "fingerprint", "starts_at"], update_fields=KEPT
        )
        _end_earlier(alerts)
        _end_acknowledgements(alerts)
    firing = sum(alert.state == Alert.State.FIRING for alert in alerts)
    return Received(firing, len(alerts) - firing)


def _end_earlier(alerts: Sequence[Alert]) -> None:
    """Resolve alerts that started again later: the message about their end was lost or is late."""
    next_start = (
        Alert.objects.filter(source=OuterRef("source"), fingerprint=OuterRef("fingerprint"))
        .filter(starts_at__gt=OuterRef("starts_at"))
        .order_by("starts_at")
        .values("starts_at")[:1]
    )
    outlived = (
        Alert.objects.filter(source=Alert.Source.PROMETHEUS, fingerprint__in={alert.fingerprint for alert in alerts})
        .filter(state=Alert.State.FIRING)
        .annotate(next_start=Subquery(next_start))
        .filter(next_start__isnull=False)
        .order_by("fingerprint", "starts_at")  # all writers lock in one order
    )
    for alert in outlived.select_for_update():
        alert.state, alert.resolved_at = Alert.State.RESOLVED, alert.next_start
        alert.save(update_fields=["state", "resolved_at"])


def _end_acknowledgements(alerts: Sequence[Alert]) -> None:
    """End the acknowledgements of resolved alerts: one that fires again with the same start is a new problem."""
    resolved = {alert.fingerprint for alert in alerts if alert.state == Alert.State.RESOLVED}
    if resolved:
        ended = Alert.objects.filter(source=Alert.Source.PROMETHEUS, fingerprint__in=resolved)
        ended = ended.filter(state=Alert.State.RESOLVED, acknowledged_at__isnull=False)
        ended.update(acknowledged_by="", acknowledged_at=None)


def read(message: Any) -> list[Alert]:
    """Read the alerts of a message as unsaved rows, without duplicates, in the order in which all writers lock them."""
    if not isinstance(message, dict):
        raise InvalidArgument("the body must be a JSON object", "body")
    if message.get("version") != VERSION:
        raise InvalidArgument(f'version must be "{VERSION}", as Alertmanager sends it', "version")
    alerts = message.get("alerts")
    if not isinstance(alerts, list):
        raise InvalidArgument("alerts must be a list", "alerts")
    if len(alerts) > MAX_ALERTS:
        raise InvalidArgument(f"alerts holds {len(alerts)}, {MAX_ALERTS} are allowed: set max_alerts", "alerts")
    now = timezone.now()
    read_alerts = [_alert(given, f"alerts[{index}]", now) for index, given in enumerate(alerts)]
    once = {(alert.fingerprint, alert.starts_at): alert for alert in read_alerts}
    return [once[key] for key in sorted(once)]


def _alert(given: Any, path: str, now: datetime) -> Alert:
    if not isinstance(given, dict):
        raise InvalidArgument(f"{path} must be an object", path)
    labels, annotations = _texts(given, "labels", path), _texts(given, "annotations", path)
    if not labels.get("alertname"):
        raise InvalidArgument(f"{path}.labels.alertname is missing", f"{path}.labels.alertname")
    state = given.get("status")
    if state not in (Alert.State.FIRING, Alert.State.RESOLVED):
        raise InvalidArgument(f"{path}.status must be firing or resolved", f"{path}.status")
    return Alert(
        source=Alert.Source.PROMETHEUS,
        fingerprint=_fingerprint(given, path),
        state=state,
        name=labels["alertname"][:NAME_CHARACTERS],
        severity=labels.get("severity", "")[:20],
        tenant_name=labels.get("tenant", "")[:100],
        queue_name=labels.get("queue", "")[:100],
        **{name: annotations.get(name, "") for name in ("summary", "description", "runbook_url")},
        labels=labels,
        starts_at=_moment(given, "startsAt", path),
        seen_at=now,
        resolved_at=_moment(given, "endsAt", path) if state == Alert.State.RESOLVED else None,
    )


def _fingerprint(given: dict[str, Any], path: str) -> str:
    value = given.get("fingerprint")
    if not isinstance(value, str) or not value or len(value) > 64 or not value.isalnum():
        raise InvalidArgument(f"{path}.fingerprint must be 1 to 64 letters and digits", f"{path}.fingerprint")
    return value


def _texts(given: dict[str, Any], name: str, path: str) -> dict[str, str]:
    """Read labels or annotations: texts without null bytes, cut to the length of their column."""
    value = given.get(name, {})
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise InvalidArgument(f"{path}.{name} must be an object of texts", f"{path}.{name}")
    if len(value) > MAX_LABELS:
        raise InvalidArgument(f"{path}.{name} has {len(value)} entries, {MAX_LABELS} are allowed", f"{path}.{name}")
    return {_plain(key)[:NAME_CHARACTERS]: _plain(text)[:TEXT_CHARACTERS] for key, text in value.items()}


def _plain(text: str) -> str:
    """Remove what PostgreSQL cannot store: null bytes and halves of surrogate pairs."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _moment(given: dict[str, Any], name: str, path: str) -> datetime:
    value = given.get(name)
    try:
        moment = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or not 1970 <= moment.year <= 9000:
        raise InvalidArgument(f"{path}.{name} must be a time such as 2026-01-31T09:00:00Z", f"{path}.{name}")
    return moment.astimezone(UTC)  # an offset may be larger than PostgreSQL reads
