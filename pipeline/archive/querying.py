"""The rows of one part, from the server in Arrow's columns, by one connection that has its bounds.

Bodies lie in the log in order of their keys, and messages mostly end in about the order in which they were sent. So
the settled messages of a part are sorted by key and laid beside one stretch of the log; the few that lie elsewhere are
looked up one by one. Both have one order, whatever the planner knows, so that a part done again is the same file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pipeline import arrow_connections
from pipeline.archive.parts import Part
from pipeline.archive.schemas import SETTLED, SQL, Kind, as_columns
from pipeline.archive.yielding import APPLICATION
from pipeline.arrow_connections import change

STATEMENT_MILLISECONDS = 3_600_000
"""A part takes seconds. One that hangs must not hold back what vacuum may clear away for longer than this."""
BATCH_BYTES = 16 * 1024 * 1024
SORT_KILOBYTES = 65_536
"""What a part's narrow rows take while they are sorted; beyond it the server uses its disk."""

# The log's key gives its order, and bodies are never sorted: a random page is cheap, since the next rows are on it.
BESIDE: dict[str, int | str] = {"enable_nestloop": "off", "enable_hashjoin": "off", "random_page_cost": "0.2"}
ONE_BY_ONE: dict[str, int | str] = {"enable_nestloop": "on", "enable_hashjoin": "on", "random_page_cost": "1"}


def batches(dsn: str, kind: Kind, part: Part) -> Iterator[pa.RecordBatch]:
    """Read the rows of a part in the columns of the kind."""
    import adbc_driver_postgresql

    hint = {adbc_driver_postgresql.StatementOptions.BATCH_SIZE_HINT_BYTES.value: str(BATCH_BYTES)}
    with arrow_connections.session(dsn, session(part), adbc_stmt_kwargs=hint) as cursor:
        for statement in _statements(cursor, kind, part):
            cursor.execute(statement)
            for batch in cursor.fetch_record_batch():
                yield as_columns(batch, kind.schema)


def session(part: Part) -> dict[str, int | str]:
    """One process of the server for each connection, which changes nothing."""
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
    if kind.name != SETTLED.name:
        yield kind.statement
        return
    cursor.execute((SQL / "stretch.sql").read_text())
    first, last, rows = cursor.fetchone()
    change(cursor, {"pipeline.first": first, "pipeline.last": last})
    if rows:
        change(cursor, BESIDE)
        yield kind.statement
    if rows < part.rows:
        change(cursor, ONE_BY_ONE)
        yield (SQL / "settled_far.sql").read_text()
