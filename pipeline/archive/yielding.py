"""A task that reads beside a live queue rests while other sessions are at work in the database.

The server's sessions have no priorities: one that reads for the archive takes as much of a core as one that receives
for a worker. It stands still, and holds nothing but its snapshot, while nobody takes what it has read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from pipeline import arrow_connections

Item = TypeVar("Item")

APPLICATION = "signalbox archive"
"""How the names of our own sessions begin."""
UPKEEP = "signalbox upkeep"
"""As queues/connections.py has it. Upkeep works a few hundredths of the time, whatever the queues do."""
RESTS = 19
"""Times as long as it has worked: each task, and the session that reads for it, work a twentieth of the time."""

LONGEST_SECONDS = 900.0
"""Of all rests of a part. Meanwhile its snapshot holds vacuum back, and its statement has an hour to end in."""

AT_WORK = """
select application_name
from pg_stat_activity
where state = 'active' and backend_type = 'client backend' and pid <> pg_backend_pid()
  and datname = current_database() and wait_event_type is distinct from 'Lock'
  and not starts_with(application_name, $1) and not starts_with(application_name, $2)
"""


@contextmanager
def others_at_work(dsn: str) -> Iterator[Callable[[], Sequence[str]]]:
    """Who runs a statement in this database, and does not wait for a lock.

    In a busy database that is nearly always somebody, in a quiet one rarely.
    """
    with arrow_connections.connect(dsn, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("select set_config('application_name', $1, false)", (f"{APPLICATION} look",))
        cursor.fetchall()

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
    """The same items; after each it rests in proportion to what the item took, its maker and its user together."""
    left = LONGEST_SECONDS
    began = clock()
    for item in items:
        yield item
        if left > 0 and others():
            rest = min(RESTS * (clock() - began), left)
            left -= rest
            sleep(rest)
        began = clock()
