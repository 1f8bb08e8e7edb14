"""The task of a replay: copy the selected messages of one part into the staging tables, in one transaction.

A task presents the token of its staging set, so that a late task is refused after the set was frozen or discarded. The
rows of a part follow from the archive and the filter alone: a part that is already staged is left as it is.
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
from pipeline.archive.schemas import BODY, schema_of

CHOSEN = schema_of(
    "message_id bigint, kind text, queue text, tenant text, ended_at timestamptz, outcome text, fingerprint text",
    f"receive_count smallint, {BODY}",
)
STAGED = pa.schema([*schema_of("staging_id bigint, part int"), *CHOSEN])
WRITTEN = schema_of("part int, rows bigint")


@dataclass(frozen=True)
class StagingTarget:
    """The staging set that a replay fills, and the database it is in."""

    dsn: str = field(repr=False)
    staging_id: int
    token: str


class Refused(RuntimeError):  # noqa: N818 - it names what happened
    """The staging set was frozen or discarded, so no task may write to it."""


def write_part(target: StagingTarget, part: int, batches: Iterator[pa.RecordBatch]) -> int:
    """Stage the rows of a part in one transaction; return how many there are."""
    counted = _Counted(target.staging_id, part, batches)
    first = next(counted, None)
    if first is None:
        return 0
    name = f"signalbox replay {part}"
    settings: dict[str, int | str] = {"application_name": name, "statement_timeout": STATEMENT_MILLISECONDS}
    with arrow_connections.session(target.dsn, settings, autocommit=False) as cursor:
        _check_token(cursor, target)
        cursor.execute(
            "select 1 from signalbox.staged_message where staging_id = $1 and message_id = $2 and part = $3",
            (target.staging_id, first.column("message_id")[0].as_py(), part),
        )
        if cursor.fetchone() is None:
            rows = pa.RecordBatchReader.from_batches(STAGED, chain([first], counted))
            cursor.adbc_ingest("staged_message", rows, mode="append", db_schema_name="signalbox")
        else:
            deque(counted, maxlen=0)
        cursor.connection.commit()
    return counted.rows


class _Counted(Iterator[pa.RecordBatch]):
    """Batches with the columns of the staging table, whose rows are counted while they pass."""

    def __init__(self, staging_id: int, part: int, batches: Iterator[pa.RecordBatch]) -> None:
        self.staging_id, self.part, self.batches, self.rows = staging_id, part, batches, 0

    def __next__(self) -> pa.RecordBatch:
        batch = next(batch for batch in self.batches if batch.num_rows)
        self.rows += batch.num_rows
        keys = [pa.repeat(pa.scalar(self.staging_id, pa.int64()), batch.num_rows)]
        keys.append(pa.repeat(pa.scalar(self.part, pa.int32()), batch.num_rows))
        columns = [batch.column(name).cast(CHOSEN.field(name).type) for name in CHOSEN.names]
        return pa.RecordBatch.from_arrays([*keys, *columns], schema=STAGED)


def _check_token(cursor: Any, target: StagingTarget) -> None:
    """Lock the staging set, and raise `Refused` unless it is being filled under this token."""
    cursor.execute(
        "select pg_advisory_xact_lock_shared(hashtext('signalbox.staging'), $1::int)::text", (target.staging_id,)
    )
    cursor.fetchall()
    cursor.execute(
        "select 1 from signalbox.staging where staging_id = $1 and state = 'filling' and token = $2",
        (target.staging_id, target.token),
    )
    if cursor.fetchone() is None:
        raise Refused(Refused.__doc__)
