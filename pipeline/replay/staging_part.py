"""The task of a replay: what was chosen in one part of the archive goes into the staging, whole or not at all.

It shows the token of its set, so that a task that wakes up after the set was frozen or given up is refused. What a part
holds follows from the archive and the filter alone: one that was written before is found there, and left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pipeline import arrow_connections
from pipeline.archive.kinds import TIME
from pipeline.archive.querying import STATEMENT_MILLISECONDS

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
        ("payload", pa.string()),
        ("attributes", pa.string()),
        ("group_id", pa.string()),
        ("deduplication_id", pa.string()),
        ("trace_id", pa.string()),
        ("priority", pa.int16()),
        ("sent_at", TIME),
        ("body_sha256", pa.binary()),
        ("body_bytes", pa.int64()),
    ]
)
STAGED = pa.schema([("staging_id", pa.int64()), ("part", pa.int32()), *CHOSEN])
WRITTEN = pa.schema([("part", pa.int32()), ("rows", pa.int64())])


@dataclass(frozen=True)
class Place:
    """The set that is being filled."""

    dsn: str = field(repr=False)
    staging_id: int
    token: str


class Refused(RuntimeError):  # noqa: N818 - it names what happened
    """The set is not to be written to any more."""


def write_part(place: Place, part: int, batches: Iterator[pa.RecordBatch]) -> int:
    """Put a part's rows into the set, in one transaction; returns how many it has."""
    counted = _Counted(place.staging_id, part, batches)
    first = next(counted, None)
    if first is None:
        return 0
    with _connected(place, part) as (connection, cursor):
        _show_token(cursor, place)
        cursor.execute(
            "select 1 from signalbox.staged_message where staging_id = $1 and message_id = $2 and part = $3",
            (place.staging_id, first.column("message_id")[0].as_py(), part),
        )
        if cursor.fetchone() is None:
            rows = pa.RecordBatchReader.from_batches(STAGED, _chain(first, counted))
            cursor.adbc_ingest("staged_message", rows, mode="append", db_schema_name="signalbox")
        else:
            for _ in counted:
                pass
        connection.commit()
    return counted.rows


class _Counted(Iterator[pa.RecordBatch]):
    """Rows as the table has them, counted while they pass."""

    def __init__(self, staging_id: int, part: int, batches: Iterator[pa.RecordBatch]) -> None:
        self.staging_id, self.part, self.batches, self.rows = staging_id, part, batches, 0

    def __next__(self) -> pa.RecordBatch:
        batch = next(self.batches)
        while not batch.num_rows:
            batch = next(self.batches)
        self.rows += batch.num_rows
        whose = [
            pa.array([value] * batch.num_rows, kind)
            for value, kind in ((self.staging_id, pa.int64()), (self.part, pa.int32()))
        ]
        columns = [batch.column(name).cast(CHOSEN.field(name).type) for name in CHOSEN.names]
        return pa.RecordBatch.from_arrays([*whose, *columns], schema=STAGED)


def _chain(first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from others


class _connected:  # noqa: N801 - used as a function
    """A connection with a transaction, and a cursor of it."""

    def __init__(self, place: Place, part: int) -> None:
        self.connection = arrow_connections.connect(place.dsn)
        self.cursor = self.connection.cursor()
        for name, value in (
            ("application_name", f"signalbox replay {part}"),
            ("statement_timeout", str(STATEMENT_MILLISECONDS)),
        ):
            self.cursor.execute("select set_config($1, $2, false)", (name, value))
            self.cursor.fetchall()

    def __enter__(self) -> tuple[Any, Any]:
        return self.connection, self.cursor

    def __exit__(self, *error: Any) -> None:
        self.cursor.close()
        self.connection.close()


def _show_token(cursor: Any, place: Place) -> None:
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
