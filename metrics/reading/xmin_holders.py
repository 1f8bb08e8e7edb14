"""Find what keeps PostgreSQL from removing dead rows, and for how long.

While anything holds an old xmin, no row that died since can be removed anywhere in the database, and what reads past
dead rows grows slower by the minute. The engine endures that well, the rest of the database does not. One query names
the holders; it looks at the server's own lists and never at messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import connection

from queues.database.query import query_text

YOUNG_SECONDS = 5.0  # work of any kind, upkeep's own included, holds its snapshot for less

BACKEND = "backend"
"""A session of which everything is known."""
HIDDEN_BACKEND = "hidden_backend"
"""A session whose start and state the role that asks may not see, for want of pg_read_all_stats."""
PREPARED_TRANSACTION = "prepared_transaction"
REPLICATION_SLOT = "replication_slot"
CATALOG_SLOT = "catalog_slot"
"""A slot that holds rows of system catalogs alone, as logical decoding does: queues do not feel it."""
STANDBY = "standby"
"""A standby without a slot that reports its oldest snapshot (hot_standby_feedback)."""

KINDS = (BACKEND, HIDDEN_BACKEND, PREPARED_TRANSACTION, REPLICATION_SLOT, CATALOG_SLOT, STANDBY)

_HOLDERS = query_text("health/xmin_holders")


@dataclass(frozen=True)
class Holder:
    """One holder of an xmin. None is what is unknown, hidden, or makes no sense for its kind."""

    kind: str
    """One of KINDS."""
    name: str
    """The pid of a session, the gid of a prepared transaction, the name of a slot or standby: any text."""
    age_transactions: int
    """How many transaction ids were given out since the one it holds: what cannot be removed is as old."""
    age_seconds: float | None
    """The time for which it has held. Exact for BACKEND and PREPARED_TRANSACTION; for other kinds the least time for
    which aggregations, of which ten minutes are kept, know the transaction id; None when they do not.
    """
    pid: int | None
    user: str | None
    database: str | None
    application: str | None
    client: str | None
    state: str | None
    """As PostgreSQL says it: "idle in transaction", "streaming"; of slots "active" or "inactive"."""
    started_at: datetime | None
    query_started_at: datetime | None
    query: str | None
    """What it runs or ran last; may quote data."""
    reader: str
    """The role that asked."""

    @property
    def slows_queues(self) -> bool:
        """True when it keeps rows of Signalbox's tables, and not only of system catalogs."""
        return self.kind != CATALOG_SLOT

    @property
    def is_old(self) -> bool:
        """True when it slows queues and is known to have held for OLD_SNAPSHOT_SECONDS."""
        return self.slows_queues and self.age_seconds is not None and self.age_seconds >= settings.OLD_SNAPSHOT_SECONDS


def read_holders(young_seconds: float = YOUNG_SECONDS) -> list[Holder]:
    """List all that has held for `young_seconds`, by the age of what they hold, oldest first. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_HOLDERS, {"young_seconds": young_seconds})
        return [Holder(*row) for row in cursor.fetchall()]


def oldest(holders: Sequence[Holder], kind: str) -> tuple[int, float | None]:
    """(transactions, seconds) of the oldest of a kind: zeros when there is none, no seconds when unknown of all."""
    of_kind = [holder for holder in holders if holder.kind == kind]
    if not of_kind:
        return 0, 0.0
    ages = [holder.age_seconds for holder in of_kind if holder.age_seconds is not None]
    return max(holder.age_transactions for holder in of_kind), max(ages, default=None)
