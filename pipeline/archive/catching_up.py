"""Tasks that read a standby wait until it has all that their window was counted from."""

from __future__ import annotations

import time

from pipeline import arrow_connections
from pipeline.archive.yielding import APPLICATION
from pipeline.errors import Behind

PATIENCE_SECONDS = 600.0
POLL_SECONDS = 0.2

HAS_REPLAYED = """
select not pg_is_in_recovery() or pg_last_wal_replay_lsn() >= $1::text::pg_lsn
"""


def wait_until_replayed(dsn: str, log_place: str) -> None:
    """Until the server at `dsn` has all that its primary's log has up to this place. Raises `Behind`."""
    ends_at = time.monotonic() + PATIENCE_SECONDS
    with arrow_connections.connect(dsn, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("select set_config('application_name', $1, false)", (f"{APPLICATION} standby",))
        cursor.fetchall()
        while True:
            cursor.execute(HAS_REPLAYED, (log_place,))
            if cursor.fetchone() == (True,):
                return
            if time.monotonic() > ends_at:
                raise Behind
            time.sleep(POLL_SECONDS)
