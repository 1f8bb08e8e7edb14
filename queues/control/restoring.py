"""Prepare a database that was restored from a backup, before anything works on it.

A dump has its rows of one moment and its sequences of later ones, and is often restored into another cluster with other
transaction ids. Upkeep notices and corrects both when it starts; here it is done at once and reported. Ids drawn after
the backup, which upkeep cannot know, are skipped, so that no id is given out twice.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from queues import audit
from queues.database.query import verb_value

SKIP_IDS = 10_000_000
"""More message ids than a system with a hundred messages a second uses in a day."""


@dataclass(frozen=True)
class Restored:
    """The corrections that were made, and the leases in the backup."""

    from_elsewhere: bool
    """True when the backup is of another cluster: numbers that depend on transaction ids were recounted."""
    last_id: int
    """The last message id that the backup knew."""
    next_id: int
    """The id behind which new ids begin."""
    leased: int
    leased_until: datetime | None
    clock_ahead_seconds: float = 0.0
    """How far the engine's clock was ahead of the server's before it was set back."""


def restored(skip_ids: int = SKIP_IDS, *, actor: str, reason: str = "") -> Restored:
    """Prepare a restored database, with an audit row. Raises `InvalidArgument`, which names the field.

    Call it outside a transaction: the end of the log is announced once it is committed.
    """
    with transaction.atomic():
        done = json.loads(verb_value("select signalbox.restored(%s)::text", skip_ids))
        ids = done["message_ids"]
        audit.record(actor, "database.restored", None, reason, {"skip_ids": skip_ids, **done})
    verb_value("select signalbox.ensure_partitions()")
    verb_value("select signalbox.publish_log_end()")
    until = done["leased_until"]
    return Restored(
        done["from_elsewhere"],
        ids["before"],
        ids["after"],
        done["leased"],
        None if until is None else datetime.fromisoformat(until),
        done["clock_ahead_seconds"],
    )
