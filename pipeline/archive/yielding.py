"""Limit the load of archive tasks: rest while other sessions work in the database, and wait for a standby.

PostgreSQL's sessions have no priorities: a session that reads for the archive takes as much of a core as one that
receives for a worker. A task rests by not fetching rows; its session then waits, and holds only its snapshot.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from pipeline import arrow_connections
from pipeline.errors import Behind

Item = TypeVar("Item")

APPLICATION = "signalbox archive"
"""Prefix of the application names of the archive's own sessions."""
UPKEEP = "signalbox upkeep"
"""Application name of upkeep (queues/database/connections.py), which always works for a small share of the time."""
RESTS = 19
"""A rest lasts this many times as long as the work before it: a task works for a twentieth of the time."""

MAX_SECONDS = 900.0
"""Longest sum of the rests of one part: its snapshot holds vacuum back, and its statement must end within an hour."""

PATIENCE_SECONDS = 600.0
POLL_SECONDS = 0.2

HAS_REPLAYED = """
select not pg_is_in_recovery() or pg_last_wal_replay_lsn() >= $1::text::pg_lsn
"""
AT_WORK = """
select application_name
from pg_stat_activity
where state = 'active' and backend_type = 'client backend' and pid <> pg_backend_pid()
  and datname = current_database() and wait_event_type is distinct from 'Lock'
  and not starts_with(application_name, $1) and not starts_with(application_name, $2)
"""


@contextmanager
def others_at_work(dsn: str) -> Iterator[Callable[[], Sequence[str]]]:
    """Yield a function that lists other sessions that run a statement in this database and wait for no lock."""
    with arrow_connections.session(dsn, {"application_name": f"{APPLICATION} look"}) as cursor:

        def others() -> Sequence[str]:
            cursor.execute(AT_WORK, (APPLICATION, UPKEEP))
            return [name for (name,) in cursor.fetchall()]

        yield others


def yielding(
    items: Iterable[Item],
    others: Callable[[], object],
    sleep: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Item]:
    """Yield the items. Rest after each, in proportion to the time that it took, while other sessions work."""
    left = MAX_SECONDS
    began = clock()
    for item in items:
        yield item
        if left > 0 and others():
            rest = min(RESTS * (clock() - began), left)
            left -= rest
            sleep(rest)
        began = clock()


def wait_until_replayed(dsn: str, log_position: str) -> None:
    """Wait until the standby at `dsn` has replayed the write-ahead log up to this position. Raises `Behind`."""
    ends_at = time.monotonic() + PATIENCE_SECONDS
    with arrow_connections.session(dsn, {"application_name": f"{APPLICATION} standby"}) as cursor:
        while True:
            cursor.execute(HAS_REPLAYED, (log_position,))
            if cursor.fetchone() == (True,):
                return
            if time.monotonic() > ends_at:
                raise Behind
            time.sleep(POLL_SECONDS)
