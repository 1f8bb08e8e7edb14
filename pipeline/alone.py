"""One process at a time: a lock of the database's that goes with the session, however its process ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg

from pipeline.errors import Busy
from queues.connections import session_dsn
from signalbox import epochs


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Raises `Busy` when another process is within the same block."""
    with epochs.connect(session_dsn(), autocommit=True, application_name=name) as connection:
        row = connection.execute("select pg_try_advisory_lock(hashtext(%s), 0)", [name]).fetchone()
        if not row or not row[0]:
            raise Busy
        try:
            yield
        finally:
            # The server ends a session that was closed in its own time; whoever comes next need not wait for that.
            with suppress(psycopg.OperationalError):
                connection.execute("select pg_advisory_unlock(hashtext(%s), 0)", [name])
