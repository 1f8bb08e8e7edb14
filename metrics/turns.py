"""Replicas of the console take turns: one reads the queues' numbers at a time (docs/adr/0017-the-exporter.md).

The turn is an advisory lock of a transaction, so whoever dies gives it up, and whoever hangs is cut off by the server.
It is asked for again and again and never waited for: a session that waits would hold a snapshot meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection, transaction

TURN_SECONDS = 5.0  # then one reads beside the other: numbers matter more than thrift
POLL_SECONDS = 0.05
LOCK = "signalbox.exporter"

_CUT_OFF = "set local idle_in_transaction_session_timeout = '30s'"
_TRY = "select pg_try_advisory_xact_lock(hashtext(%s), 0)"


@contextmanager
def turn(clock: Callable[[], float] = time.monotonic, pause: Callable[[float], None] = time.sleep) -> Iterator[bool]:
    """The body runs while no other replica reads, or after TURN_SECONDS anyway; the value says which."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_CUT_OFF)
            give_up_at = clock() + TURN_SECONDS
            while not (taken := _try(cursor)) and clock() < give_up_at:
                pause(POLL_SECONDS)
        yield taken


def _try(cursor) -> bool:  # type: ignore[no-untyped-def]
    cursor.execute(_TRY, [LOCK])
    return bool(cursor.fetchone()[0])
