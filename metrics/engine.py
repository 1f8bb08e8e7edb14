"""The health of PostgreSQL as far as queues feel it, and what the trash holds: never from rows of messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from django.db import connection

TABLES = ("ready", "scheduled", "waiting", "lease", "dead_letter", "queue_stat")
"""The busiest tables: rows of the others are seldom updated or deleted, and partitions are emptied as a whole."""

_HEALTH = (Path(__file__).parent / "sql" / "engine_health.sql").read_text()


@dataclass(frozen=True)
class Engine:
    """PostgreSQL and the trash at one moment."""

    notify_queue_usage: float = 0.0
    """How full the queue of notifications is, 0 to 1."""
    database_bytes: int = 0
    replication_lag_seconds: float | None = None
    """Of the standby furthest behind, 0 without one; None where this role may not see them."""
    epoch: int | None = None
    """The server's timeline: one more with each promotion of a standby; None on a standby."""
    dead_tuple_ratios: Mapping[str, float] = field(default_factory=dict)
    trash_messages: int = 0
    trash_seconds_left: float | None = None
    """Until the first of what is in the trash goes for good; None when it is empty."""
    archive_age_seconds: float | None = None
    """How long the archive's horizon stands where it is; None where history waits for none."""
    published_tables: int = 0
    """How many of our tables a publication of logical replication covers."""
    unidentified_tables: int = 0
    """How many of our tables have no replica identity; PostgreSQL refuses deletes from them once published."""


def read_engine() -> Engine:
    """One query, however much the tables hold."""
    with connection.cursor() as cursor:
        cursor.execute(_HEALTH, {"tables": list(TABLES)})
        usage, size, lag, epoch, ratios, messages, seconds_left, archive_age, published, unidentified = (
            cursor.fetchone()
        )
    if isinstance(ratios, str):
        ratios = json.loads(ratios)
    return Engine(usage, size, lag, epoch, ratios, int(messages), seconds_left, archive_age, published, unidentified)
