"""The task of a replay: what was chosen in one part of the archive goes into the staging, whole or not at all.

It shows the token of its set, so that a task that wakes up after the set was frozen or given up is refused. What a part
holds follows from the archive and the filter alone: one that was written before is found there, and left as it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pyarrow as pa

from pipeline import arrow_connections
from pipeline.archive.querying import STATEMENT_MILLISECONDS
from pipeline.archive.schemas import BODY, TIME

CHOSEN = pa.schema(
    [
        ("message_id", pa.int64()),
        ("kind", pa.string()),
        ("queue", pa.string()),
        ("tenant", pa.string()),
        ("ended_at", TIME),
        ("outcome", pa.string()),
        ("fingerprint", pa.string()),
        ("receive_count", pa.int16()),
        *BODY,
    ]
)
STAGED = pa.schema([("staging_id", pa.int64()), ("part", pa.int32()), *CHOSEN])
WRITTEN = pa.schema([("part", pa.int32()), ("rows", pa.int64())])


@dataclass(frozen=True)
class StagingTarget:
    """The set that is being filled."""

    dsn: str = field(repr=False)
    staging_id: int
    token: str


class Refused(RuntimeError):  # noqa: N818 - it names what happened
    """The set is not to be written to any more."""


def write_part(place: StagingTarget, part: int, batches: Iterator[pa.RecordBatch]) -> int:
    """Put a part's rows into the set, in one transaction; returns how many it has."""
    counted = _Counted(place.staging_id, part, batches)
    first = next(counted, None)
    if first is None:
        return 0
    name = f"signalbox replay {part}"
    settings: dict[str, int | str] = {"application_name": name, "statement_timeout": STATEMENT_MILLISECONDS}
    with arrow_connections.session(place.dsn, settings, autocommit=False) as cursor:
        _show_token(cursor, place)
        cursor.execute(
            "select 1 from signalbox.staged_message where staging_id = $1 and message_id = $2 and part = $3",
            (place.staging_id, first.column("message_id")[0].as_py(), part),
        )
        if cursor.fetchone() is None:
            rows = pa.RecordBatchReader.from_batches(STAGED, chain([first], counted))
            cursor.adbc_ingest("staged_message", rows, mode="append", db_schema_name="signalbox")
        else:
            deque(counted, maxlen=0)
        cursor.connection.commit()
    return counted.rows


class _Counted(Iterator[pa.RecordBatch]):
    """Rows as the table has them, counted while they pass."""

    def __init__(self, staging_id: int, part: int, batches: Iterator[pa.RecordBatch]) -> None:
        self.staging_id, self.part, self.batches, self.rows = staging_id, part, batches, 0

    def __next__(self) -> pa.RecordBatch:
        batch = next(batch for batch in self.batches if batch.num_rows)
        self.rows += batch.num_rows
        whose = [
            pa.array([value] * batch.num_rows, kind)
            for value, kind in ((self.staging_id, pa.int64()), (self.part, pa.int32()))
        ]
        columns = [batch.column(name).cast(CHOSEN.field(name).type) for name in CHOSEN.names]
        return pa.RecordBatch.from_arrays([*whose, *columns], schema=STAGED)


def _show_token(cursor: Any, place: StagingTarget) -> None:
    cursor.execute(
        "select pg_advisory_xact_lock_shared(hashtext('signalbox.staging'), $1::int)::text", (place.staging_id,)
    )
    cursor.fetchall()
    cursor.execute(
        "select 1 from signalbox.staging where staging_id = $1 and state = 'filling' and token = $2",
        (place.staging_id, place.token),
    )
    if cursor.fetchone() is None:
        raise Refused(Refused.__doc__)
