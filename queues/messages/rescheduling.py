"""Changing the due time of one scheduled message, with its row in the audit."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from queues import audit
from queues.database.query import verb_value
from queues.models import Queue, ScheduledTicket

_RESCHEDULE = "select signalbox.reschedule(%s::text, %s::bigint, coalesce(%s::timestamptz, '-infinity'))"


def reschedule(queue: Queue, message_id: int, due: datetime | None, *, actor: str, reason: str) -> datetime | None:
    """Make the message due at `due`, or now without one; return the time, or None if it is not scheduled any more.

    Raises `InvalidArgument` for a time that is more than a year away.
    """
    with transaction.atomic():
        before = ScheduledTicket.objects.filter(message_id=message_id).values_list("due_at", flat=True).first()
        due_at: datetime | None = verb_value(_RESCHEDULE, queue.name, message_id, due)
        if due_at is None:
            return None
        times = {"before": before.isoformat() if before else None, "after": due_at.isoformat()}
        audit.record(actor, "message.reschedule", queue, reason, {"message_id": message_id, "due": times})
        return due_at
