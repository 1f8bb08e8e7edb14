"""Another name for a queue. The old one works on for a while: nobody who sends or receives has to change at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from queues import audit
from queues.errors import QueueNotFound, translated
from queues.models import Queue

GRACE_SECONDS = 7 * 86_400
Row = tuple[Any, ...]


@dataclass(frozen=True)
class OldName:
    """A name that a queue had. It works until `works_until`, and is held afterwards until somebody frees it."""

    name: str
    renamed_at: datetime
    works_until: datetime
    works: bool
    last_used: datetime | None
    """When a program last called it so; None: nobody has since."""


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
    with transaction.atomic(), translated():
        with audit.acting(actor, reason, details):
            ((queue_id,),) = _ask("select signalbox.rename_queue(%s, %s, %s)", name, new_name, grace_seconds)
        return Queue.objects.get(queue_id=queue_id)


def free_name(name: str, *, actor: str, reason: str = "") -> bool:
    """Let another queue have an old name, which from now on means nothing. False when it was no old name."""
    with transaction.atomic(), audit.acting(actor, reason):
        ((freed,),) = _ask("select signalbox.free_queue_name(%s)", name)
        return bool(freed)


def old_names(queue_id: int) -> list[OldName]:
    """The names that the queue had, the latest first. One query."""
    return [OldName(*row) for row in _ask(_OLD_NAMES, queue_id)]


def name_now(name: str) -> str | None:
    """What the queue is called by now that had this name; None when it is no old name."""
    found = _ask(_NAME_NOW, name) if "\x00" not in name else []
    return found[0][0] if found else None


def not_found(name: str) -> QueueNotFound:
    """The refusal of a name that no queue has, in the engine's words."""
    try:
        with transaction.atomic(), translated():
            _ask("select signalbox._refuse_unknown_queue(%s)", name.replace("\x00", ""))
    except QueueNotFound as error:
        return error
    raise AssertionError("it refuses every name")


def _ask(statement: str, *parameters: Any) -> list[Row]:
    """Past Django's cursor, which would make errors of its own of the database's refusals."""
    connection.ensure_connection()
    rows: list[Row] = connection.connection.execute(statement, parameters).fetchall()
    return rows


_NAME_NOW = "select q.name from signalbox.queue_alias a join signalbox.queue q using (queue_id) where a.name = %s"
_OLD_NAMES = """
select a.name, a.renamed_at, a.works_until, a.works_until > clock_timestamp(),
  to_timestamp(nullif(pg_sequence_last_value(a.last_used), 0))
from signalbox.queue_alias a
where a.queue_id = %s
order by a.renamed_at desc, a.name
"""
