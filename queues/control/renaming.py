"""Rename a queue. Its old name works for a while, so that senders and receivers need not change at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from queues import audit
from queues.database.query import query_text, verb_rows, verb_value
from queues.errors import QueueNotFound
from queues.models import Queue

GRACE_SECONDS = 7 * 86_400


@dataclass(frozen=True)
class OldName:
    """A former name of a queue. It works until `works_until`, and is reserved afterwards until a person frees it."""

    name: str
    renamed_at: datetime
    works_until: datetime
    works: bool
    last_used: datetime | None
    """The last time that a program used it; None when none has used it since."""


def rename_queue(
    name: str,
    new_name: str,
    grace_seconds: float = GRACE_SECONDS,
    *,
    actor: str,
    reason: str = "",
    details: dict[str, Any] | None = None,
) -> Queue:
    """Rename it, with an audit row. Raises `QueueNotFound` and `InvalidArgument`, which names the field."""
    with transaction.atomic(), audit.acting(actor, reason, details):
        queue_id = verb_value("select signalbox.rename_queue(%s, %s, %s)", name, new_name, grace_seconds)
        return Queue.objects.get(queue_id=queue_id)


def free_name(name: str, *, actor: str, reason: str = "") -> bool:
    """Release a former name, so that another queue may have it. False when it was no former name."""
    with transaction.atomic(), audit.acting(actor, reason):
        return bool(verb_value("select signalbox.free_queue_name(%s)", name))


def old_names(queue_id: int) -> list[OldName]:
    """List the former names of a queue, the latest first. One query."""
    return [OldName(*row) for row in verb_rows(_OLD_NAMES, queue_id)]


def name_now(name: str) -> str | None:
    """Find the present name of a queue by a former one; None when it is no former name."""
    return verb_value(_NAME_NOW, name) if "\x00" not in name else None


def not_found(name: str) -> QueueNotFound:
    """Make the error for a name that no queue has, with the engine's text."""
    try:
        with transaction.atomic():
            verb_rows("select signalbox._refuse_unknown_queue(%s)", name.replace("\x00", ""))
    except QueueNotFound as error:
        return error
    raise AssertionError("it refuses every name")


_NAME_NOW = "select q.name from signalbox.queue_alias a join signalbox.queue q using (queue_id) where a.name = %s"
_OLD_NAMES = query_text("queue_names/old_names")
