"""Captures of tables from Django: which table is captured into which stream, and the end of a capture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from queues import audit
from queues.control import streams
from queues.database.query import fetch
from queues.stream_models import Stream


@dataclass(frozen=True)
class Capture:
    """A captured table. `table` is None after the table was dropped; `columns` is None where all are captured.

    Triggers append the events in the transactions of the writers, so a capture itself is never behind: `lag_messages`
    and `lag_seconds` are those of the slowest group of the stream.
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
    return [Capture(*(*row, tenants[row[2]], *behind.get(row[2], (0, 0.0)))) for row in rows]


def read_capture(stream: str, capture_id: int) -> Capture | None:
    """Read one capture into a stream."""
    return next((one for one in read_captures() if (one.stream, one.capture_id) == (stream, capture_id)), None)


def end_capture(capture_id: int, *, actor: str, reason: str) -> bool:
    """Stop a capture; False when there is none. Its events stay in the stream."""
    with transaction.atomic(), audit.acting(actor, reason):
        return bool(fetch("select signalbox.end_capture(%s)", [capture_id])[0][0])
