"""Behind a pooler in transaction mode, as PgBouncer has it: the session of one transaction is another's in the next.

So nothing may outlast a transaction: nobody listens, nothing is prepared, no lock is a session's. The environment says
so, DATABASE_POOLER=transaction, for every connection of a process. DATABASE_DIRECT_URL, where it is given, leads past
the pooler to the database itself, for what needs a session: above all for being woken.
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
    """Do this process's connections go through a pooler in transaction mode?"""
    mode = os.environ.get(POOLER, "").strip() or MODES[0]
    if mode not in MODES:
        raise InvalidArgument(f"{POOLER} must be {' or '.join(MODES)}, not {mode!r}", field="pooler")
    return mode == "transaction"


def session_dsn(dsn: str) -> str | None:
    """Where a connection to the database of `dsn` has a session of its own: there, past the pooler, or nowhere."""
    if not is_pooled():
        return dsn
    return os.environ.get(DIRECT_URL, "").strip() or None


def has_sessions() -> bool:
    """Is there any way to a session of one's own?"""
    return session_dsn("given") is not None


def prepare_threshold() -> int | None:
    """After how many times psycopg prepares a statement."""
    return None if is_pooled() else USUAL_THRESHOLD


def prepared(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of `psycopg.connect`: behind a pooler with nothing prepared, unless they say otherwise."""
    return {"prepare_threshold": None, **options} if is_pooled() else dict(options)
