"""Read the rows of one part from PostgreSQL as Arrow batches, over one connection with limits.

The message log is sorted by message id, and most messages are settled in about the order in which they were sent. The
bodies of a part's settled messages are therefore read by a merge join with one stretch of the log, and bodies outside
of the stretch by single lookups (docs/decisions/0034-bodies-by-stretches-of-the-log.md). The order of rows does not
depend on the planner's statistics: a part that is written again becomes the same file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pipeline import arrow_connections
from pipeline.archive.parts import Part
from pipeline.archive.schemas import SETTLED, SQL, STREAM_MESSAGES, Kind, as_columns
from pipeline.archive.yielding import APPLICATION
from pipeline.arrow_connections import change

STATEMENT_MILLISECONDS = 3_600_000
"""A part takes seconds. The limit ends a statement that hangs, because its snapshot holds vacuum back."""
BATCH_BYTES = 16 * 1024 * 1024
SORT_KILOBYTES = 65_536
"""Memory for sorting a part's rows without bodies; PostgreSQL sorts the rest on disk."""

# The planner must walk the log by its index. A random page is cheap there: the next rows lie on the same page.
MERGE_JOIN: dict[str, int | str] = {"enable_nestloop": "off", "enable_hashjoin": "off", "random_page_cost": "0.2"}
# Segments of a stream are merged by their primary keys, so that nothing is sorted.
BY_POSITION: dict[str, int | str] = {"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_sort": "off"}
LOOKUPS: dict[str, int | str] = {"enable_nestloop": "on", "enable_hashjoin": "on", "random_page_cost": "1"}


def batches(dsn: str, kind: Kind, part: Part) -> Iterator[pa.RecordBatch]:
    """Read the rows of a part with the columns of its kind."""
    import adbc_driver_postgresql

    hint = {adbc_driver_postgresql.StatementOptions.BATCH_SIZE_HINT_BYTES.value: str(BATCH_BYTES)}
    with arrow_connections.session(dsn, session_settings(part), adbc_stmt_kwargs=hint) as cursor:
        for statement in _statements(cursor, kind, part):
            cursor.execute(statement)
            for batch in cursor.fetch_record_batch():
                yield as_columns(batch, kind.schema)


def session_settings(part: Part) -> dict[str, int | str]:
    """Settings of a session that reads a part: read-only, without parallel workers."""
    return {
        "application_name": f"{APPLICATION} {part.kind}",
        "statement_timeout": STATEMENT_MILLISECONDS,
        "default_transaction_read_only": "on",
        "max_parallel_workers_per_gather": 0,
        "synchronize_seqscans": "off",
        "work_mem": f"{SORT_KILOBYTES}kB",
        "jit": "off",
        "pipeline.low": part.low,
        "pipeline.high": part.high,
    }


def _statements(cursor: Any, kind: Kind, part: Part) -> Iterator[str]:
    if kind.name == STREAM_MESSAGES.name:
        change(cursor, BY_POSITION)
        for stream_id, partition, low, high in part.ranges:
            places = {"stream_id": stream_id, "partition": partition, "low": low, "high": high}
            change(cursor, {f"pipeline.{name}": place for name, place in places.items()})
            yield kind.statement
        return
    if kind.name != SETTLED.name:
        yield kind.statement
        return
    cursor.execute((SQL / "stretch.sql").read_text())
    first, last, rows = cursor.fetchone()
    change(cursor, {"pipeline.first": first, "pipeline.last": last})
    if rows:
        change(cursor, MERGE_JOIN)
        yield kind.statement
    if rows < part.rows:
        change(cursor, LOOKUPS)
        yield (SQL / "settled_far.sql").read_text()
