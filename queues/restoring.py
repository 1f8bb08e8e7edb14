"""What a database needs after it was restored from a backup, before anything works on it.

A dump has its rows of one moment and its sequences of later ones, and is often restored into another cluster, whose
transaction ids are others. Upkeep notices and mends both when it starts; here it is done at once and said, and what
upkeep cannot know is done as well: ids that were drawn after the backup are passed over, so that none comes to mean two
things.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from queues import audit
from queues.errors import translated

SKIP_IDS = 10_000_000
"""More than a busy system draws between two backups that are a day apart at a hundred messages a second."""


@dataclass(frozen=True)
class Restored:
    """What was done, and what the backup had in consumers' hands."""

    from_elsewhere: bool
    """The backup is of another cluster: what goes by transaction ids was counted anew."""
    last_id: int
    """The last message id that the backup knew."""
    next_id: int
    """Behind which ids go on."""
    leased: int
    leased_until: datetime | None
    clock_ahead_seconds: float = 0.0
    """How far the engine's clock was ahead of the server's, and was put back."""


def restored(skip_ids: int = SKIP_IDS, *, actor: str, reason: str = "") -> Restored:
    """Make a restored database ready, with an audit row. Raises `InvalidArgument`, which names the field.

    Call it outside a transaction: where the log goes on is told once it is there.
    """
    with transaction.atomic(), translated():
        done = json.loads(_ask("select signalbox.restored(%s)::text", skip_ids))
        ids = done["message_ids"]
        audit.record(actor, "database.restored", None, reason, {"skip_ids": skip_ids, **done})
    _ask("select signalbox.ensure_partitions()")
    _ask("select signalbox.publish_log_end()")
    until = done["leased_until"]
    return Restored(
        done["from_elsewhere"],
        ids["before"],
        ids["after"],
        done["leased"],
        None if until is None else datetime.fromisoformat(until),
        done["clock_ahead_seconds"],
    )


def _ask(statement: str, *parameters: Any) -> Any:
    """Past Django's cursor, which would make errors of its own of the database's refusals."""
    connection.ensure_connection()
    row = connection.connection.execute(statement, parameters).fetchone()
    return row[0] if row else None
