"""The console's own evaluator: looks at the counters every so often and keeps what it finds in rows.

One process looks at a time, held apart by an advisory lock of the transaction; others take over as soon as it is gone.
Since when a condition holds, that somebody was told, and whom one still has to tell are all in rows, written together:
a restart loses nothing and tells nobody twice.
"""

from __future__ import annotations

import hashlib
import os
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from metrics.alerts import notifications, silences
from metrics.alerts.models import Alert, Evaluation
from metrics.alerts.own_rules import (
    ALL_RULES,
    CLOCK_AHEAD,
    INSTALLATION_RULES,
    LEASE_RULES,
    MAINTENANCE_OVERDUE,
    OWN_RULES,
    SILENT_PROMETHEUS,
    Held,
    Installation,
    OwnRule,
    clock_ahead,
    late_maintenance,
)
from metrics.alerts.watchdog import look
from metrics.engine import read_engine
from metrics.xmin_holders import read_holders
from queues import clock, maintenance
from queues.counters import QueueNumbers, read_numbers
from queues.leases import Leases, read_leases

GAP = timedelta(minutes=5)
"""What was not looked at for so long has to hold anew before it fires."""
UNTOLD_SEVERITY = "info"
"""The severity of alerts that the page *Alerts* lists and no mail or webhook carries."""
MOST_OPEN = 20_000
"""More are neither read nor kept: what is not known would begin, and be told, anew with every look."""

EVALUATOR = f"{socket.gethostname()}:{os.getpid()}"


@dataclass(frozen=True)
class Finding:
    """A condition that holds now."""

    rule: OwnRule[Any]
    tenant: str
    queue: str
    fingerprint: str
    description: str


@dataclass
class Outcome:
    """What one look changed."""

    fired: list[Alert] = field(default_factory=list)
    resolved: list[Alert] = field(default_factory=list)
    firing: int = 0
    pending: int = 0
    notifications: int = 0


def evaluate(now: datetime | None = None, evaluator: str = EVALUATOR) -> Outcome | None:
    """Look once. None when another process does, or has just done. `now` is the database's clock unless given."""
    started = time.monotonic()
    with transaction.atomic():
        at = _alone(now, evaluator)
        if at is None:
            return None
        found = [*findings(read_numbers()), *findings_of_all(at)]
        outcome = _compare(found, at)
        outcome.notifications = _tell(outcome, at)
        Evaluation.objects.update_or_create(
            evaluation_id=1,
            defaults={"evaluated_at": at, "evaluator": evaluator, "seconds": time.monotonic() - started},
        )
    return outcome


def findings(numbers: Sequence[QueueNumbers]) -> Iterator[Finding]:
    """Everything that is wrong with these queues."""
    leases = read_leases([queue.queue_id for queue in numbers])
    for queue in numbers:
        held = Held(queue, leases.get(queue.queue_id) or Leases())
        said: list[tuple[OwnRule[Any], str | None]] = [(rule, rule.describe(queue)) for rule in OWN_RULES]
        said += [(rule, rule.describe(held)) for rule in LEASE_RULES]
        for rule, description in said:
            if description:
                yield Finding(rule, queue.tenant, queue.name, _fingerprint(rule, queue.queue_id), description)


def findings_of_all(now: datetime) -> Iterator[Finding]:
    """What is wrong with the installation; maintenance that is late; a Prometheus heard once that is silent."""
    installation = Installation(read_engine(), read_holders())
    for rule in INSTALLATION_RULES:
        if description := rule.describe(installation):
            yield _of_all(rule, description)
    if (held := maintenance.current()) is not None and (late := held.overdue(now).total_seconds()):
        yield _of_all(MAINTENANCE_OVERDUE, late_maintenance(late))
    if (ahead := clock.ahead_seconds()) > clock.TOLERATED_SECONDS:
        yield _of_all(CLOCK_AHEAD, clock_ahead(ahead))
    if look(now).missing:
        yield _of_all(SILENT_PROMETHEUS, "No watchdog for five minutes.")


def _of_all(rule: OwnRule[Any], description: str) -> Finding:
    return Finding(rule, "", "", _fingerprint(rule, 0), description)


def _fingerprint(rule: OwnRule[Any], queue_id: int) -> str:
    return hashlib.sha256(f"{rule.name} {queue_id}".encode()).hexdigest()[:16]


_ALONE = "select pg_try_advisory_xact_lock(hashtext('signalbox.alerts'), 0), clock_timestamp()"


def _alone(now: datetime | None, evaluator: str) -> datetime | None:
    """The time, when nobody else is looking or has just looked. The lock ends with the transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_ALONE)
        locked, at = cursor.fetchone()
    at = now or at
    recently = at - timedelta(seconds=settings.ALERTS_EVERY_SECONDS * 0.8)
    others = Evaluation.objects.filter(evaluated_at__gt=recently, evaluated_at__lte=at).exclude(evaluator=evaluator)
    return at if locked and not others.exists() else None


def _compare(found: Sequence[Finding], now: datetime) -> Outcome:
    """What holds against what was known."""
    outcome = Outcome()
    known = {alert.fingerprint: alert for alert in _open()}
    unknown = [finding for finding in found if finding.fingerprint not in known]
    new = [_begun(finding, now) for finding in unknown[: max(MOST_OPEN - len(known), 0)]]
    holding = {finding.fingerprint: finding for finding in found}
    for fingerprint, alert in known.items():
        if fingerprint in holding:
            _go_on(alert, holding[fingerprint], now)
        else:
            _calm_down(alert, now)
    gone = [alert.pk for alert in known.values() if alert.state == Alert.State.PENDING and alert.calm_since]
    changed = [alert for alert in known.values() if alert.pk not in gone]
    Alert.objects.filter(pk__in=gone).delete()
    Alert.objects.bulk_update(changed, _CHANGING, batch_size=500)
    for alert in (*Alert.objects.bulk_create(new), *changed):
        _count(alert, outcome)
    return outcome


_CHANGING = (
    "state",
    "severity",
    "summary",
    "description",
    "tenant_name",
    "starts_at",
    "seen_at",
    "calm_since",
    "resolved_at",
)


def _open() -> Iterator[Alert]:
    alerts = Alert.objects.filter(source=Alert.Source.CONSOLE).exclude(state=Alert.State.RESOLVED)
    return alerts.order_by("alert_id")[:MOST_OPEN].iterator()


def _begun(finding: Finding, now: datetime) -> Alert:
    rule = finding.rule
    return Alert(
        source=Alert.Source.CONSOLE,
        fingerprint=finding.fingerprint,
        state=Alert.State.FIRING if rule.for_seconds == 0 else Alert.State.PENDING,
        name=rule.name,
        severity=rule.severity,
        tenant_name=finding.tenant,
        queue_name=finding.queue,
        summary=rule.summary,
        description=finding.description,
        runbook_url=rule.runbook_url,
        labels={"alertname": rule.name, "tenant": finding.tenant, "queue": finding.queue},
        starts_at=now,
        seen_at=now,
    )


def _go_on(alert: Alert, finding: Finding, now: datetime) -> None:
    """It holds, still or again; pending for long enough it fires."""
    if alert.state == Alert.State.PENDING:
        if now - alert.seen_at > GAP:
            alert.starts_at = now
        if now - alert.starts_at >= timedelta(seconds=finding.rule.for_seconds):
            alert.state = Alert.State.FIRING
    alert.description, alert.tenant_name = finding.description, finding.tenant
    alert.seen_at, alert.calm_since = now, None


def _calm_down(alert: Alert, now: datetime) -> None:
    """It does not hold; one that fires is over when that lasts."""
    alert.calm_since = alert.calm_since or now
    keep = timedelta(seconds=_KEEP_SECONDS.get(alert.name, 0.0))
    if alert.state == Alert.State.FIRING and now - alert.calm_since >= keep:
        alert.state, alert.resolved_at = Alert.State.RESOLVED, now
    alert.seen_at = now


_KEEP_SECONDS = {rule.name: rule.keep_seconds for rule in ALL_RULES}


def _count(alert: Alert, outcome: Outcome) -> None:
    if alert.state == Alert.State.RESOLVED:
        outcome.resolved.append(alert)
    elif alert.state == Alert.State.PENDING:
        outcome.pending += 1
    else:
        outcome.firing += 1
        if alert.notified_at is None:
            outcome.fired.append(alert)


def _tell(outcome: Outcome, now: datetime) -> int:
    """Write what people are to be told: news that is not silenced, and that what they were told of is over."""
    active = silences.active(now)
    news = [alert for alert in outcome.fired if alert.severity != UNTOLD_SEVERITY]
    outcome.fired = [alert for alert in news if not silences.silencing(active, alert)]
    over = [alert for alert in outcome.resolved if alert.notified_at]
    Alert.objects.filter(pk__in=[alert.pk for alert in outcome.fired]).update(notified_at=now)
    return notifications.write([*outcome.fired, *over], now)
