"""Begin and end maintenance, each with its audit row in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import OperationalError, transaction
from django.utils import timezone
from psycopg.errors import LockNotAvailable

from queues import audit
from queues.database.query import fetch
from queues.errors import InvalidArgument
from queues.models import Maintenance

MAX_DURATION = timedelta(days=7)
LOCK_SECONDS = 10
"""How long to wait for transactions that configure queues. Others wait in that time, except sends and claims."""


@dataclass(frozen=True)
class Preview:
    """The queues that maintenance would hold."""

    queues: int
    paused: int
    """Of these, queues that are paused already: they stay paused when it ends."""


def current() -> Maintenance | None:
    """Read the maintenance that is on; None when it is off. One query."""
    return Maintenance.objects.first()


def preview() -> Preview:
    """Count the queues that maintenance would hold. One query."""
    [row] = fetch("select count(*), count(*) filter (where q.paused) from signalbox.queue q")
    return Preview(*row)


def begin(
    *, actor: str, reason: str, until: datetime | None = None, holds_claims: bool = True, refuses_sends: bool = False
) -> Maintenance:
    """Begin maintenance, or change its texts and effects while it is on. Raises `InvalidArgument`."""
    reason = _checked_reason(reason)
    _check_until(until)
    with transaction.atomic():
        before = _locked()
        values = [actor, reason, until, holds_claims, refuses_sends]
        fetch("select signalbox.begin_maintenance(%s, %s, %s, %s, %s)", values)
        row = Maintenance.objects.get()
        action = "maintenance.change" if before else "maintenance.begin"
        audit.record(actor, action, reason=reason, details=_details(row))
    return row


def end(*, actor: str, reason: str = "") -> Maintenance | None:
    """End maintenance; return the one that was on, or None. Each queue works as before."""
    with transaction.atomic():
        row = _locked()
        if row is None:
            return None
        fetch("select signalbox.end_maintenance()")
        seconds = round((timezone.now() - row.started_at).total_seconds())
        audit.record(actor, "maintenance.end", reason=reason[:500], details=_details(row) | {"seconds": seconds})
    return row


def _locked() -> Maintenance | None:
    """Lock the row against everything that writes a queue's row or begins or ends maintenance, until the commit."""
    try:
        fetch("select set_config('lock_timeout', %s, true)", [f"{LOCK_SECONDS}s"])
        fetch("select signalbox._lock_queues()")
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            message = f"another transaction has been configuring queues for {LOCK_SECONDS} s: try again"
            raise InvalidArgument(message, "maintenance") from error
        raise
    return current()


def _checked_reason(reason: str) -> str:
    if not reason.strip():
        raise InvalidArgument("reason is missing: everybody will read it", "reason")
    if len(reason) > 500 or "\0" in reason:
        raise InvalidArgument("reason must have at most 500 characters", "reason")
    return reason.strip()


def _check_until(until: datetime | None) -> None:
    now = timezone.now()
    if until is not None and not now < until <= now + MAX_DURATION:
        raise InvalidArgument(f"until must lie within the next {MAX_DURATION.days} days", "until")


def _details(row: Maintenance) -> dict[str, object]:
    return {
        "until": row.until.isoformat(timespec="seconds") if row.until else None,
        "holds_claims": row.holds_claims,
        "refuses_sends": row.refuses_sends,
    }
