"""The record of what people did. Written in the action's own transaction: no action without its row, no row without its
action. Nothing else writes the table, and nothing updates or deletes from it: the database refuses, and chains each row
to the one before by its hash (`queues/sql/_seal_audit.sql`), so that `verify` finds what was changed behind its back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection

from queues.models import AuditEvent, Queue


def record(
    actor: str, action: str, queue: Queue | None = None, reason: str = "", details: dict[str, Any] | None = None
) -> AuditEvent:
    """Add one row: who (`actor`) did what (`action`, say "queue.pause"), to which queue, why, with which values."""
    return AuditEvent.objects.create(
        actor=actor,
        action=action,
        queue=queue,
        queue_name=queue.name if queue else "",
        reason=reason[:500],
        details=details or {},
    )


@dataclass(frozen=True)
class Verdict:
    """What a walk over the chain found: `events` rows, and the place, id and complaint of the first that is wrong.

    `hash` is that of the last row. `position` is None for a row that has no place in the chain, `event_id` for one
    that is gone.
    """

    events: int
    hash: str
    position: int | None
    event_id: int | None
    complaint: str

    @property
    def intact(self) -> bool:
        return not self.complaint


def verify(noted: tuple[int, str] | None = None) -> Verdict:
    """Walk the whole chain. `noted` is a position and its hash, written down elsewhere: they must still hold."""
    with connection.cursor() as cursor:
        cursor.execute("select events, hash, bad_position, bad_event_id, complaint from signalbox.verify_audit()")
        events, last, position, event_id, complaint = cursor.fetchone()
    verdict = Verdict(events, last or "", position, event_id, complaint or "")
    return _against(noted, verdict) if noted and verdict.intact else verdict


def _against(noted: tuple[int, str], verdict: Verdict) -> Verdict:
    """A chain that was written anew is whole in itself; it does not have the hash that was noted."""
    position, expected = noted
    event = AuditEvent.objects.filter(position=position).first()
    if event is not None and event.hash is not None and bytes(event.hash).hex() == expected.lower():
        return verdict
    complaint = "it is missing" if event is None else "its hash is not the one that was noted"
    event_id = None if event is None else event.audit_event_id
    return Verdict(verdict.events, verdict.hash, position, event_id, complaint)
