"""The schemas of the archive: each kind with its columns, and the column by whose day its files are laid out.

The columns are declared here and not taken from a query, so that each file of a kind has one schema, whatever is in it.
A new column may be null: older files answer null for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import pyarrow as pa

SQL = files("queues.queries") / "archive"
"""The queries as files, in a folder or in the zip file that a Spark cluster was given."""

TIME = pa.timestamp("us", tz="UTC")
FLUSH_BYTES = 64 * 1024 * 1024
"""A row group is written when so much has come together in a task: what it holds does not grow with what it writes."""


@dataclass(frozen=True)
class Kind:
    """One folder of the archive."""

    name: str
    at: str
    """The column whose day, in UTC, is the partition."""
    schema: pa.Schema

    @property
    def statement(self) -> str:
        """The rows of a window, which is in the settings pipeline.low and pipeline.high: COPY takes no parameters."""
        return (SQL / f"{self.name}.sql").read_text()


WHOSE = [
    ("txid", pa.int64()),
    ("queue_id", pa.int32()),
    ("queue", pa.string()),
    ("tenant_id", pa.int32()),
    ("tenant", pa.string()),
]
BODY = [
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
CAUSE = [
    ("reason", pa.string()),
    ("error_class", pa.string()),
    ("error", pa.string()),
    ("details", pa.string()),
    ("fingerprint", pa.string()),
    ("consumer", pa.string()),
]

SETTLED = Kind(
    "settled",
    "settled_at",
    pa.schema(
        [
            *WHOSE,
            ("message_id", pa.int64()),
            ("outcome", pa.string()),
            ("settled_at", TIME),
            ("receive_count", pa.int16()),
            ("work_ms", pa.int32()),
            ("consumer", pa.string()),
            ("result", pa.string()),
            *BODY,
            ("redriven", pa.bool_()),
        ]
    ),
)
FAILURES = Kind(
    "failures",
    "failed_at",
    pa.schema(
        [
            WHOSE[0],
            ("failure_id", pa.int64()),
            *WHOSE[1:],
            ("message_id", pa.int64()),
            ("receive_count", pa.int16()),
            ("leased_at", TIME),
            ("failed_at", TIME),
            ("retry_at", TIME),
            ("died", pa.bool_()),
            *CAUSE,
        ]
    ),
)
DEAD_LETTERS = Kind(
    "dead_letters",
    "died_at",
    pa.schema(
        [
            *WHOSE,
            ("message_id", pa.int64()),
            ("dead_letter_id", pa.int64()),
            ("died_at", TIME),
            ("receive_count", pa.int16()),
            *CAUSE,
            ("redrive_count", pa.int32()),
            *BODY,
        ]
    ),
)
KINDS = {kind.name: kind for kind in (SETTLED, FAILURES, DEAD_LETTERS)}


def as_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch as this schema has it: no column more, null in those that it lacks, none of a driver's own notes."""
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
