"""The record of what people did. Written in the action's own transaction: no action without its row, no row without its
action. Nothing else writes the table, and nothing updates or deletes from it but `queues.audit_pruning`: the database
refuses, and chains each row to the one before by its hash (`queues/sql/_seal_audit.sql`), so that `verify` finds what
was changed behind its back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.db import connection

from queues import audit_exports
from queues.errors import InvalidArgument
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
    that is gone. Rows up to `pruned` were exported and removed.
    """

    events: int
    hash: str
    position: int | None
    event_id: int | None
    complaint: str
    pruned: int = 0

    @property
    def intact(self) -> bool:
        return not self.complaint

    @property
    def last(self) -> int:
        """The place of the last row of an intact chain."""
        return self.pruned + self.events


def verify(noted: tuple[int, str] | None = None, exports: Sequence[Path] = ()) -> Verdict:
    """Walk the whole chain. `noted` is a position and its hash, written down elsewhere: they must still hold.

    `exports` are files of pruned rows: they must be whole, and reach up to where the database begins. Raises
    `InvalidArgument` when `noted` was pruned and no export has it.
    """
    with connection.cursor() as cursor:
        cursor.execute("select events, hash, bad_position, bad_event_id, complaint from signalbox.verify_audit()")
        events, last, position, event_id, complaint = cursor.fetchone()
        cursor.execute("select position, encode(hash, 'hex') from signalbox.audit_anchor order by 1 desc limit 1")
        pruned, anchor = cursor.fetchone() or (0, "")
    verdict = Verdict(events, last or "", position, event_id, complaint or "", pruned)
    kept = {pruned: anchor}
    if exports and verdict.intact:
        found = audit_exports.read(exports)
        verdict = _with_exports(found, verdict, anchor)
        kept |= found.hashes
    return _against(noted, verdict, kept) if noted and verdict.intact else verdict


def _with_exports(found: audit_exports.Exports, verdict: Verdict, anchor: str) -> Verdict:
    if found.complaint:
        return replace(verdict, position=found.bad_position, complaint=f"in its export {found.complaint}")
    if found.last != verdict.pruned or found.hashes.get(found.last) != anchor:
        return replace(verdict, position=found.last, complaint="the exports end there, and not where the audit begins")
    return verdict


def _against(noted: tuple[int, str], verdict: Verdict, kept: dict[int, str]) -> Verdict:
    """A chain that was written anew is whole in itself; it does not have the hash that was noted."""
    position, expected = noted
    event = AuditEvent.objects.filter(position=position).first()
    if event is not None and event.hash is not None:
        kept = {position: bytes(event.hash).hex()}
    elif position not in kept and 0 < position <= verdict.pruned:
        raise InvalidArgument(f"expect is of row {position}, which was pruned: name the export that has it", "expect")
    if kept.get(position) == expected.lower():
        return verdict
    complaint = "its hash is not the one that was noted" if position in kept else "it is missing"
    event_id = None if event is None else event.audit_event_id
    return replace(verdict, position=position, event_id=event_id, complaint=complaint)
