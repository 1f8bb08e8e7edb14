"""The record of what people did. Written in the action's own transaction: no action without its row, no row without its
action. Nothing else writes the table, and nothing updates or deletes from it.
"""

from __future__ import annotations

from typing import Any

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
