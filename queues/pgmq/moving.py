"""Move the messages of pgmq's tables, batch by batch, until the tables are empty."""

from __future__ import annotations

import time
from typing import Any

import psycopg

Connection = psycopg.Connection[Any]

BATCH = 1000
LOOK_SECONDS = 0.5
"""Time between two looks at a table whose messages are in flight."""


def queues(connection: Connection) -> list[str]:
    """List the queues of which pgmq still has a table."""
    return [row[0] for row in connection.execute(_QUEUES)]


def forward(connection: Connection, queue: str, until: float) -> tuple[int, int]:
    """Move a queue's messages until none is left, or `until` on the monotonic clock; count the moved and the left."""
    forwarded = 0
    while True:
        moved = _value(connection, "select pgmq.forward(%s, %s)", queue, BATCH)
        forwarded += moved
        if moved:
            continue
        left = _value(connection, "select pgmq.left_behind(%s)", queue)
        if not left or time.monotonic() >= until:
            return forwarded, left
        time.sleep(LOOK_SECONDS)


def _value(connection: Connection, statement: str, *parameters: Any) -> int:
    row = connection.execute(statement, parameters).fetchone()
    return int(row[0]) if row else 0


_QUEUES = "select m.queue_name from pgmq.meta m where pgmq._old_table(m.queue_name) is not null order by m.queue_name"
