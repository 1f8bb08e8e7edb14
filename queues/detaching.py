"""Detaching a partition without a lock that anybody else waits behind."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

DETACH_PATIENCE = "2s"  # the next try comes with the next round


def detach(connection: psycopg.Connection[Any], parent: sql.Identifier, name: str) -> None:
    """CONCURRENTLY waits for whoever reads the parent without making others wait behind it.

    We wait only for a moment, since the other chores wait with us. What was begun stays pending, also when this
    process dies, and a later call finishes it.
    """
    row = connection.execute(
        "select inhdetachpending from pg_inherits where inhrelid = to_regclass(%s)", [f"signalbox.{name}"]
    ).fetchone()
    if row is None:
        return  # detached already
    connection.execute(sql.SQL("set lock_timeout = {}").format(DETACH_PATIENCE))
    try:
        connection.execute(
            sql.SQL("alter table {} detach partition {} {}").format(
                parent, sql.Identifier("signalbox", name), sql.SQL("finalize" if row[0] else "concurrently")
            )
        )
    finally:
        if not connection.broken:
            connection.execute("reset lock_timeout")
