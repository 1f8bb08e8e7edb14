"""Evaluate the alert conditions that one reading decides, and keep the alerts in rows.

One process evaluates at a time: it holds an advisory lock until its transaction ends. The start of each condition, the
alerts that were notified and the notifications that are due are written in that transaction, so that a restart loses no
alert and notifies none twice.
"""

from __future__ import annotations

import hashlib
import os
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from metrics.alerts import alert_list, notifications, silences
from metrics.alerts.conditions import INSTALLATION_CONDITIONS, QUEUE_CONDITIONS, InstallationReading
from metrics.alerts.models import Alert, Evaluation
from metrics.alerts.rules import Rule, all_rules
from metrics.reading.cells import Cells, read_cells
from metrics.reading.fleet import QueueReading, read_engine
from metrics.reading.xmin_holders import read_holders
from queues.control import clock, maintenance
from queues.control.subscriptions import feeds_by_target
from queues.counters.leases import Leases, read_leases
from queues.counters.queue_numbers import QueueNumbers, read_numbers
from queues.database.query import fetch

GAP = timedelta(minutes=5)
"""After a longer gap between two evaluations, the pending time of an alert starts again."""
SILENT_SEVERITY = "info"
"""The severity of alerts that pages list and that no notification reports."""
MAX_OPEN = 20_000
"""Limit of open alerts. Above the limit no alert is made, because it would be new at every evaluation."""

EVALUATOR = f"{socket.gethostname()}:{os.getpid()}"


@dataclass(frozen=True)
class Finding:
    """A condition that holds now: of a queue, or of the installation when `queue_id` is 0."""

    rule: Rule
    description: str
    queue_id: int = 0
    tenant: str = ""
    queue: str = ""

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(f"{self.rule.name} {self.queue_id}".encode()).hexdigest()[:16]


@dataclass
class Outcome:
    """Alerts that an evaluation fired or resolved, and how many fire or are pending after it."""

    fired: list[Alert] = field(default_factory=list)
    resolved: list[Alert] = field(default_factory=list)
    firing: int = 0
    pending: int = 0


def evaluate(now: datetime | None = None, evaluator: str = EVALUATOR) -> Outcome | None:
    """Evaluate every condition once; None when another process does or just did. `now`: default database clock."""
    started = time.monotonic()
    with transaction.atomic():
        now = _lock(now, evaluator)
        if now is None:
            return None
        numbers = read_numbers()
        outcome = _compare([*findings(numbers), *findings_of_installation(now, read_cells(numbers))], now)
        _notify(outcome, now)
        Evaluation.objects.update_or_create(
            evaluation_id=1,
            defaults={"evaluated_at": now, "evaluator": evaluator, "seconds": time.monotonic() - started},
        )
    return outcome


def findings(numbers: Sequence[QueueNumbers]) -> Iterator[Finding]:
    """Find the conditions that hold for these queues."""
    queue_ids = [queue.queue_id for queue in numbers]
    leases, feeds = read_leases(queue_ids), feeds_by_target(queue_ids)
    for queue in numbers:
        known = leases.get(queue.queue_id) or Leases()
        reading = QueueReading(queue, known, feeds=feeds.get(queue.queue_id, ()))
        for name, condition in QUEUE_CONDITIONS.items():
            if description := condition(reading):
                yield Finding(all_rules()[name], description, queue.queue_id, queue.tenant, queue.name)


def findings_of_installation(now: datetime, cells: Cells) -> Iterator[Finding]:
    """Find the conditions that hold for the installation, including a missing watchdog of Prometheus."""
    current = maintenance.current()
    reading = InstallationReading(
        engine=read_engine(),
        holders=read_holders(),
        overdue_seconds=current.overdue(now).total_seconds() if current else 0.0,
        clock_ahead_seconds=clock.ahead_seconds(),
        watchdog_missing=alert_list.read_watchdog(now).missing,
        cells=cells,
    )
    for name, condition in INSTALLATION_CONDITIONS.items():
        if description := condition(reading):
            yield Finding(all_rules()[name], description)


_TRY_LOCK = "select pg_try_advisory_xact_lock(hashtext('signalbox.alerts'), 0), clock_timestamp()"


def _lock(now: datetime | None, evaluator: str) -> datetime | None:
    """Take the lock until the transaction ends; return the time, or None when another process evaluates or just did."""
    [(locked, clock)] = fetch(_TRY_LOCK)
    now = now or clock
    recently = now - timedelta(seconds=settings.ALERTS_EVERY_SECONDS * 0.8)
    others = Evaluation.objects.filter(evaluated_at__gt=recently, evaluated_at__lte=now).exclude(evaluator=evaluator)
    return now if locked and not others.exists() else None


def _compare(findings: Sequence[Finding], now: datetime) -> Outcome:
    """Compare the conditions that hold with the open alerts, and write the difference."""
    outcome = Outcome()
    open_alerts = Alert.objects.filter(source=Alert.Source.CONSOLE).exclude(state=Alert.State.RESOLVED)
    known = {alert.fingerprint: alert for alert in open_alerts.order_by("alert_id")[:MAX_OPEN].iterator()}
    unknown = [finding for finding in findings if finding.fingerprint not in known]
    new = [_new_alert(finding, now) for finding in unknown[: max(MAX_OPEN - len(known), 0)]]
    holding = {finding.fingerprint: finding for finding in findings}
    for fingerprint, alert in known.items():
        if fingerprint in holding:
            _note_holding(alert, holding[fingerprint], now)
        else:
            _note_calm(alert, now)
    gone = [alert.pk for alert in known.values() if alert.state == Alert.State.PENDING and alert.calm_since]
    changed = [alert for alert in known.values() if alert.pk not in gone]
    Alert.objects.filter(pk__in=gone).delete()
    Alert.objects.bulk_update(changed, _CHANGING, batch_size=500)
    for alert in (*Alert.objects.bulk_create(new), *changed):
        _count(alert, outcome)
    return outcome


_CHANGING = ("state", "description", "tenant_name", "starts_at", "seen_at", "calm_since", "resolved_at")


def _new_alert(finding: Finding, now: datetime) -> Alert:
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


def _note_holding(alert: Alert, finding: Finding, now: datetime) -> None:
    """Note that the condition holds; an alert that was pending for long enough fires."""
    if alert.state == Alert.State.PENDING:
        if now - alert.seen_at > GAP:
            alert.starts_at = now
        if now - alert.starts_at >= timedelta(seconds=finding.rule.for_seconds):
            alert.state = Alert.State.FIRING
    alert.description, alert.tenant_name = finding.description, finding.tenant
    alert.seen_at, alert.calm_since = now, None


def _note_calm(alert: Alert, now: datetime) -> None:
    """Note that the condition does not hold. A firing alert is resolved after keep_seconds in that state."""
    alert.calm_since = alert.calm_since or now
    rule = all_rules().get(alert.name)
    keep = timedelta(seconds=rule.keep_seconds if rule else 0.0)
    if alert.state == Alert.State.FIRING and now - alert.calm_since >= keep:
        alert.state, alert.resolved_at = Alert.State.RESOLVED, now
    alert.seen_at = now


def _count(alert: Alert, outcome: Outcome) -> None:
    if alert.state == Alert.State.RESOLVED:
        outcome.resolved.append(alert)
    elif alert.state == Alert.State.PENDING:
        outcome.pending += 1
    else:
        outcome.firing += 1
        if alert.notified_at is None:
            outcome.fired.append(alert)


def _notify(outcome: Outcome, now: datetime) -> None:
    """Write notifications about new alerts that are not silenced, and about the end of alerts that were notified."""
    active = silences.active(now)
    loud = [alert for alert in outcome.fired if alert.severity != SILENT_SEVERITY]
    outcome.fired = [alert for alert in loud if not silences.silencing(active, alert)]
    over = [alert for alert in outcome.resolved if alert.notified_at]
    Alert.objects.filter(pk__in=[alert.pk for alert in outcome.fired]).update(notified_at=now)
    notifications.write([*outcome.fired, *over], now)
