"""Find what keeps PostgreSQL from removing dead rows, and for how long.

While a session or slot holds an old xmin, no row that died since can be removed anywhere in the database, and queries
that read past dead rows get slower by the minute. The engine is hardly affected, the rest of the database is. One query
names the holders; it reads the server's own lists and no messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from queues.database.query import fetch, query_text

YOUNG_SECONDS = 5.0  # work of any kind, upkeep's own included, holds its snapshot for less

BACKEND = "backend"
"""A session whose start, state and query this role may see."""
HIDDEN_BACKEND = "hidden_backend"
"""A session whose start and state this role may not see, since it lacks pg_read_all_stats."""
PREPARED_TRANSACTION = "prepared_transaction"
REPLICATION_SLOT = "replication_slot"
CATALOG_SLOT = "catalog_slot"
"""A slot that holds only rows of system catalogs, as logical decoding does: it does not slow queues."""
STANDBY = "standby"
"""A standby without a slot that reports its oldest snapshot (hot_standby_feedback)."""

KINDS = (BACKEND, HIDDEN_BACKEND, PREPARED_TRANSACTION, REPLICATION_SLOT, CATALOG_SLOT, STANDBY)

_HOLDERS = query_text("health/xmin_holders")


@dataclass(frozen=True)
class Holder:
    """One holder of an xmin. None: unknown, hidden, or without meaning for the kind."""

    kind: str
    """One of KINDS."""
    name: str
    """The pid of a session, the gid of a prepared transaction, the name of a slot or standby: any text."""
    age_transactions: int
    """Transaction ids that were given out since the one it holds."""
    age_seconds: float | None
    """How long the holder has held its xmin. Exact for BACKEND and PREPARED_TRANSACTION.

    For other kinds a lower bound, from the aggregations of the last ten minutes; None when these do not show the
    transaction id.
    """
    pid: int | None
    user: str | None
    database: str | None
    application: str | None
    client: str | None
    state: str | None
    """The state in PostgreSQL's words: "idle in transaction", "streaming"; of slots "active" or "inactive"."""
    started_at: datetime | None
    query_started_at: datetime | None
    query: str | None
    """The query that the session runs or ran last; it may quote data."""
    reader: str
    """The database role that read this list of holders."""

    @property
    def slows_queues(self) -> bool:
        """True when the holder keeps dead rows of Signalbox's tables, and not only of system catalogs."""
        return self.kind != CATALOG_SLOT

    @property
    def is_old(self) -> bool:
        """True when the holder slows queues and is known to have held its xmin for OLD_SNAPSHOT_SECONDS."""
        return self.slows_queues and self.age_seconds is not None and self.age_seconds >= settings.OLD_SNAPSHOT_SECONDS


def read_holders(young_seconds: float = YOUNG_SECONDS) -> list[Holder]:
    """List the holders older than `young_seconds`, the oldest first. One query."""
    return [Holder(*row) for row in fetch(_HOLDERS, {"young_seconds": young_seconds})]


def oldest(holders: Sequence[Holder], kind: str) -> tuple[int, float | None]:
    """Return the highest age of a kind's holders in transactions and in seconds; None seconds when unknown."""
    of_kind = [holder for holder in holders if holder.kind == kind]
    if not of_kind:
        return 0, 0.0
    ages = [holder.age_seconds for holder in of_kind if holder.age_seconds is not None]
    return max(holder.age_transactions for holder in of_kind), max(ages, default=None)
