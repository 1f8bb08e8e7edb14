"""One process at a time: a lock of the database's that goes with the session, however its process ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
        yield
