"""Schemas of the archive's tables: the columns of each, and the column whose day (UTC) partitions its files.

Columns are declared here and not taken from a query, so that all files of a table have one schema. A new column must be
nullable: files that were written before it existed read as null.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import pyarrow as pa

SQL = files("queues.queries") / "archive"
"""The folder of the queries, on disk or in the zip file that a Spark cluster receives."""
FLUSH_BYTES = 64 * 1024 * 1024
"""Rows that wait in memory before they are written as a row group, in bytes: the memory of a task has this bound."""
TYPES = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "smallint": pa.int16(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "text": pa.string(),
    "bytea": pa.binary(),
    "timestamptz": pa.timestamp("us", tz="UTC"),
}


@dataclass(frozen=True)
class Kind:
    """A kind of archived row, which has a folder of its own."""

    name: str
    at: str
    """The column whose day, in UTC, is the partition."""
    schema: pa.Schema

    @property
    def statement(self) -> str:
        """The query for the rows of a window, which it reads from settings of the session such as pipeline.low."""
        return (SQL / f"{self.name}.sql").read_text()


def schema_of(*columns: str) -> pa.Schema:
    """Build an Arrow schema from columns declared as in SQL: "queue_id int, queue text"."""
    declared = (column.split() for part in columns for column in part.split(","))
    return pa.schema([(name, TYPES[kind]) for name, kind in declared])


QUEUE = "queue_id int, queue text, tenant_id int, tenant text"
BODY = """
payload text, attributes text, group_id text, deduplication_id text, trace_id text, priority smallint,
sent_at timestamptz, body_sha256 bytea, body_bytes bigint
"""
CAUSE = "reason text, error_class text, error text, details text, fingerprint text, consumer text"

SETTLED = Kind(
    "settled",
    "settled_at",
    schema_of(
        f"txid bigint, {QUEUE}, message_id bigint, outcome text, settled_at timestamptz, receive_count smallint",
        f"work_ms int, consumer text, result text, {BODY}, redriven boolean",
    ),
)
FAILURES = Kind(
    "failures",
    "failed_at",
    schema_of(
        f"txid bigint, failure_id bigint, {QUEUE}, message_id bigint, receive_count smallint, leased_at timestamptz",
        f"failed_at timestamptz, retry_at timestamptz, died boolean, {CAUSE}",
    ),
)
DEAD_LETTERS = Kind(
    "dead_letters",
    "died_at",
    schema_of(
        f"txid bigint, {QUEUE}, message_id bigint, dead_letter_id bigint, died_at timestamptz, receive_count smallint",
        f"{CAUSE}, redrive_count int, {BODY}",
    ),
)
STREAM_MESSAGES = Kind(
    "stream_messages",
    "appended_at",
    schema_of(
        "stream_id int, stream text, tenant_id int, tenant text, partition smallint, position bigint, key text",
        "payload text, attributes text, trace_id text, appended_at timestamptz, body_sha256 bytea, body_bytes bigint",
    ),
)
KINDS = {kind.name: kind for kind in (SETTLED, FAILURES, DEAD_LETTERS, STREAM_MESSAGES)}
BODY_COLUMNS = tuple(schema_of(BODY).names)


def as_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Convert a batch to a schema: other columns are dropped, and missing ones are null."""
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
