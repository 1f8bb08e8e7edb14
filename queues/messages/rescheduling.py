"""Changing the due time of scheduled messages, one or several, with a row in the audit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from queues import audit
from queues.database.query import verb_rows, verb_value
from queues.errors import InvalidArgument
from queues.models import Queue, ScheduledTicket

MAX_AT_ONCE = 500
"""The most messages of one call: they change in one transaction, which receives wait for no longer than that."""

_RESCHEDULE_ALL = """
select message_id, signalbox.reschedule(%s::text, message_id, coalesce(%s::timestamptz, '-infinity'))
from unnest(%s::bigint[]) message_id
"""
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


def scheduled_among(queue: Queue, message_ids: Sequence[int]) -> list[tuple[int, datetime]]:
    """Return which of these messages are scheduled in the queue, with their times, the earliest first."""
    found = ScheduledTicket.objects.filter(queue_id=queue.pk, message_id__in=message_ids[:MAX_AT_ONCE])
    return list(found.order_by("due_at", "message_id").values_list("message_id", "due_at"))


def reschedule_all(
    queue: Queue, message_ids: Sequence[int], due: datetime | None, *, actor: str, reason: str
) -> list[int]:
    """Make at most `MAX_AT_ONCE` messages due at `due`, or now without one; return those that were still scheduled.

    Raises `InvalidArgument` for more messages, and for a time that is more than a year away. One audit row names all.
    """
    if len(message_ids) > MAX_AT_ONCE:
        raise InvalidArgument(f"ids has {len(message_ids):,} messages: at most {MAX_AT_ONCE} at once", "ids")
    with transaction.atomic():
        rows = verb_rows(_RESCHEDULE_ALL, queue.name, due, sorted(set(message_ids)))
        changed = [message_id for message_id, due_at in rows if due_at is not None]
        if changed:
            details = {"message_ids": changed, "due": due.isoformat() if due else "now"}
            audit.record(actor, "message.reschedule", queue, reason, details)
        return changed
