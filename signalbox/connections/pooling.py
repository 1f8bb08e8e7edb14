"""Poolers in transaction mode, such as PgBouncer, where each transaction may have another session.

Nothing may outlast a transaction there: no LISTEN, no prepared statement, no lock of a session. The variable
DATABASE_POOLER=transaction declares such a pooler for every connection of a process. DATABASE_DIRECT_URL, where it is
given, leads past the pooler to the database itself, for work that needs a session: above all wake-ups.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from signalbox.errors import InvalidArgument

POOLER = "DATABASE_POOLER"
DIRECT_URL = "DATABASE_DIRECT_URL"
MODES = ("none", "transaction")
USUAL_THRESHOLD = 5  # psycopg's own


def is_pooled() -> bool:
    """Return whether the connections of this process go through a pooler in transaction mode."""
    mode = os.environ.get(POOLER, "").strip() or MODES[0]
    if mode not in MODES:
        raise InvalidArgument(f"{POOLER} must be {' or '.join(MODES)}, not {mode!r}", field="pooler")
    return mode == "transaction"


def session_dsn(dsn: str) -> str | None:
    """The address for a connection that keeps its session: `dsn`, the address past the pooler, or None."""
    if not is_pooled():
        return dsn
    return os.environ.get(DIRECT_URL, "").strip() or None


def has_sessions() -> bool:
    """Return whether a connection that keeps its session is possible."""
    return session_dsn("given") is not None


def prepare_threshold() -> int | None:
    """The number of executions after which psycopg prepares a statement."""
    return None if is_pooled() else USUAL_THRESHOLD


def prepared(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of `psycopg.connect`; behind a pooler nothing is prepared by default."""
    return {"prepare_threshold": None, **options} if is_pooled() else dict(options)
