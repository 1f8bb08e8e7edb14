"""Beginning and ending maintenance, each with its audit row in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import OperationalError, connection, transaction
from django.utils import timezone
from psycopg.errors import LockNotAvailable

from queues import audit
from queues.errors import InvalidArgument
from queues.maintenance.models import Maintenance

LONGEST = timedelta(days=7)
LOCK_SECONDS = 10
"""Whoever configures a queue just now is waited for so long, and meanwhile nobody else can; sends and claims go on."""


@dataclass(frozen=True)
class Preview:
    """What maintenance would meet."""

    queues: int
    paused: int
    """Of these, paused by somebody already: they stay so when it ends."""


def current() -> Maintenance | None:
    """The maintenance that is on. One query."""
    return Maintenance.objects.first()


def preview() -> Preview:
    """How many queues it would hold. One query over queues."""
    with connection.cursor() as cursor:
        cursor.execute("select count(*), count(*) filter (where q.paused) from signalbox.queue q")
        return Preview(*cursor.fetchone())


def begin(
    *,
    actor: str,
    reason: str,
    until: datetime | None = None,
    holds_claims: bool = True,
    refuses_sends: bool = False,
) -> Maintenance:
    """Hold the installation still; when it is already, with these words from now on. Raises `InvalidArgument`."""
    reason = _checked_reason(reason)
    _check_until(until)
    with transaction.atomic():
        before = _locked()
        _call(
            "select signalbox.begin_maintenance(%s, %s, %s, %s, %s)", actor, reason, until, holds_claims, refuses_sends
        )
        row = Maintenance.objects.get()
        action = "maintenance.change" if before else "maintenance.begin"
        audit.record(actor, action, reason=reason, details=_details(row))
    return row


def end(*, actor: str, reason: str = "") -> Maintenance | None:
    """Let everything go on, each queue as it was: the maintenance that was on, or None when there was none."""
    with transaction.atomic():
        row = _locked()
        if row is None:
            return None
        _call("select signalbox.end_maintenance()")
        seconds = round((timezone.now() - row.started_at).total_seconds())
        audit.record(actor, "maintenance.end", reason=reason[:500], details=_details(row) | {"seconds": seconds})
    return row


def _locked() -> Maintenance | None:
    """The row, once nobody else writes a queue's row or begins or ends maintenance: until this transaction ends."""
    try:
        _call("select set_config('lock_timeout', %s, true)", f"{LOCK_SECONDS}s")
        _call("select signalbox._lock_queues()")
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            raise InvalidArgument(
                f"maintenance waits for somebody who has been configuring queues for {LOCK_SECONDS} s: try again",
                "maintenance",
            ) from error
        raise
    return current()


def _call(statement: str, *parameters: str | bool | datetime | None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def _checked_reason(reason: str) -> str:
    if not reason.strip():
        raise InvalidArgument("reason is missing: everybody will read it", "reason")
    if len(reason) > 500 or "\0" in reason:
        raise InvalidArgument("reason must have at most 500 characters", "reason")
    return reason.strip()


def _check_until(until: datetime | None) -> None:
    now = timezone.now()
    if until is not None and not now < until <= now + LONGEST:
        raise InvalidArgument(f"until must lie within the next {LONGEST.days} days", "until")


def _details(row: Maintenance) -> dict[str, object]:
    return {
        "until": row.until.isoformat(timespec="seconds") if row.until else None,
        "holds_claims": row.holds_claims,
        "refuses_sends": row.refuses_sends,
    }
