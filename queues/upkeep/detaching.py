"""Detach a partition without a lock that blocks other transactions."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from signalbox.connections import pooling

DETACH_PATIENCE = "2s"  # the next try comes with the next round
BRIEF_PATIENCE = "100ms"  # where other transactions wait for this lock


def detach(connection: psycopg.Connection[Any], parent: sql.Identifier, name: str) -> None:
    """Detach a partition without making others wait behind a reader of the parent.

    DETACH CONCURRENTLY waits for such readers, here only for a moment, since the other chores wait too. A detach that
    has begun stays pending, even if this process dies, and a later call finishes it. CONCURRENTLY cannot run in a
    transaction, so its lock timeout must be set for the session. Behind a pooler without DATABASE_DIRECT_URL the
    session is shared: there a plain DETACH is used, with a very short lock timeout.
    """
    row = connection.execute(
        "select inhdetachpending from pg_inherits where inhrelid = to_regclass(%s)", [f"signalbox.{name}"]
    ).fetchone()
    if row is None:
        return  # detached already
    begun = bool(row[0])
    if not pooling.has_sessions():
        with connection.transaction():
            connection.execute(sql.SQL("set local lock_timeout = {}").format(BRIEF_PATIENCE))
            connection.execute(_detach(parent, name, "finalize" if begun else ""))
        return
    usual = connection.execute("select current_setting('lock_timeout')").fetchone()
    connection.execute(sql.SQL("set lock_timeout = {}").format(DETACH_PATIENCE))
    try:
        connection.execute(_detach(parent, name, "finalize" if begun else "concurrently"))
    finally:
        if not connection.broken:
            connection.execute("select set_config('lock_timeout', %s, false)", usual)


def _detach(parent: sql.Identifier, name: str, how: str) -> sql.Composed:
    return sql.SQL("alter table {} detach partition {} {}").format(
        parent, sql.Identifier("signalbox", name), sql.SQL(how)
    )
