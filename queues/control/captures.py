"""Captures of tables from Django: which table is captured into which stream, and the end of a capture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from django.db import transaction

from queues import audit
from queues.control import streams
from queues.database.query import fetch
from queues.errors import InvalidArgument
from queues.messages import client
from queues.stream_models import Stream

LOCK_TIMEOUT = "3s"
"""The longest wait for writers of the table: other writers wait behind it."""


@dataclass(frozen=True)
class Capture:
    """A captured table. `table` is None after the table was dropped; `columns` is None where all are captured.

    Triggers append the events in the transactions of the writers, so such a capture is never behind: `lag_messages` and
    `lag_seconds` are those of the slowest group of the stream.
    """

    capture_id: int
    table: str | None
    stream: str
    columns: Sequence[str] | None
    key: Sequence[str]
    filter: str
    created_at: datetime
    backfilled: int
    """Rows that were there before, and are in the stream."""
    backfilled_at: datetime | None
    """The end of the backfill; None while it is under way."""
    tenant: str
    lag_messages: int = 0
    lag_seconds: float = 0.0
    slot_status: str | None = None
    """Of a capture from the log: the state of its replication slot, or "missing"; None where triggers capture."""
    slot_lag_bytes: int = 0
    """The log that was not read yet."""


def read_captures() -> list[Capture]:
    """Read all captures, by stream and table."""
    rows = fetch(
        "select capture_id, table_name, stream, columns, key, filter, created_at, backfilled, backfilled_at"
        " from signalbox.captures()"
    )
    if not rows:
        return []
    tenants = dict(Stream.objects.values_list("name", "tenant__name"))
    behind: dict[str, tuple[int, float]] = {}
    for numbers in streams.read_streams().groups:
        name, known = numbers.group.stream.name, behind.get(numbers.group.stream.name, (0, 0.0))
        behind[name] = max(known, (numbers.lag_messages, numbers.lag_seconds))
    slots = _slots()
    more = {row[0]: (*behind.get(row[2], (0, 0.0)), *slots.get(row[0], (None, 0))) for row in rows}
    return [Capture(*(*row, tenants[row[2]], *more[row[0]])) for row in rows]


def _slots() -> dict[int, tuple[str, int]]:
    """Read the state of the slot and the unread bytes of each capture from the log."""
    rows = fetch("select capture_id, wal_status, lag_bytes from signalbox.log_captures()")
    return {capture_id: (status or "missing", lag or 0) for capture_id, status, lag in rows}


def read_capture(stream: str, capture_id: int) -> Capture | None:
    """Read one capture into a stream."""
    return next((one for one in read_captures() if (one.stream, one.capture_id) == (stream, capture_id)), None)


def capture(table: str, stream: str, *, actor: str, reason: str = "", **options: Any) -> Capture:
    """Append each change of a table to a stream; see `Client.capture`. Waits for writers of the table within a bound.

    The triggers are those of this connection's role: InvalidArgument where that may not make them.
    """
    with transaction.atomic(), audit.acting(actor, reason):
        fetch("select set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
        try:
            capture_id = client().capture(table, stream, **options)
        except psycopg.errors.InsufficientPrivilege:
            raise InvalidArgument(
                f"table_name is {table!r}: the console's role may not make triggers on it", field="table_name"
            ) from None
        return next(one for one in read_captures() if one.capture_id == capture_id)


def uncapture(table: str, stream: str, *, actor: str, reason: str = "") -> bool:
    """Stop the capture of a table into a stream; False when there is none."""
    with transaction.atomic(), audit.acting(actor, reason):
        fetch("select set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
        return client().uncapture(table, stream)


def end_capture(capture_id: int, *, actor: str, reason: str) -> bool:
    """Stop a capture; False when there is none. Its events stay in the stream."""
    with transaction.atomic(), audit.acting(actor, reason):
        return bool(fetch("select signalbox.end_capture(%s)", [capture_id])[0][0])
