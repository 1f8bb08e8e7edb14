"""Tasks that read a standby wait until it has all that their window was counted from."""

from __future__ import annotations

import time
from collections.abc import Callable

from pipeline import arrow_connections
from pipeline.archive.yielding import APPLICATION

PATIENCE_SECONDS = 600.0
POLL_SECONDS = 0.2

HAS_REPLAYED = """
select not pg_is_in_recovery() or pg_last_wal_replay_lsn() >= $1::text::pg_lsn
"""


class Behind(RuntimeError):  # noqa: N818 - it names what happened
    """The standby that ARCHIVE_READ_URL names has not replayed the window within ten minutes."""

    def __str__(self) -> str:
        return (self.__doc__ or "").strip()


def wait_until_replayed(dsn: str, written: str, sleep: Callable[[float], object] = time.sleep) -> None:
    """Until the server at `dsn` has what its primary had written by `written`, a place in its log. Raises `Behind`."""
    ends_at = time.monotonic() + PATIENCE_SECONDS
    with arrow_connections.connect(dsn, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("select set_config('application_name', $1, false)", (f"{APPLICATION} standby",))
        cursor.fetchall()
        while True:
            cursor.execute(HAS_REPLAYED, (written,))
            if cursor.fetchone() == (True,):
                return
            if time.monotonic() > ends_at:
                raise Behind
            sleep(POLL_SECONDS)
