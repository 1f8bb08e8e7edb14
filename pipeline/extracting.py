"""The task of an archive run: rows of one part out of PostgreSQL into Parquet, a row group at a time.

It knows nothing but its arguments, and what it writes is named after them: done again, it puts the same in the same
place. Rows go from the server to the file in Arrow's columns; Python sees none of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.files import Store
from pipeline.kinds import FLUSH_BYTES, KINDS, Kind, as_columns
from pipeline.parts import Part

STATEMENT_MILLISECONDS = 3_600_000
"""A part takes seconds. One that hangs must not hold back what vacuum may clear away for longer than this."""
BATCH_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Job:
    """What the tasks of one run have in common."""

    dsn: str = field(repr=False)
    url: str
    prefix: str
    """Of the names of its files: the run's number and token."""


@dataclass(frozen=True)
class Written:
    """A file that is there, whole."""

    kind: str
    part: int
    day: str
    path: str
    rows: int
    bytes: int
    first_at: datetime
    last_at: datetime
    seconds: float

    def as_row(self) -> dict[str, Any]:
        return asdict(self)


WRITTEN = pa.schema(
    [
        ("kind", pa.string()),
        ("part", pa.int32()),
        ("day", pa.string()),
        ("path", pa.string()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
        ("first_at", pa.timestamp("us", tz="UTC")),
        ("last_at", pa.timestamp("us", tz="UTC")),
        ("seconds", pa.float64()),
    ]
)


def write_part(job: Job, part: Part) -> list[Written]:
    """Put a part's rows into one file for each day, and say which."""
    started, kind, store = time.monotonic(), KINDS[part.kind], Store(job.url)
    days: dict[str, _File] = {}
    with ExitStack() as open_files:
        for batch in _batches(job, kind, part):
            for day, rows in _by_day(batch, kind.at):
                if day not in days:
                    path = f"{kind.name}/day={day}/{job.prefix}-{part.number:05}.parquet"
                    days[day] = open_files.enter_context(_file_of(store, path, kind))
                days[day].add(rows)
    seconds = (time.monotonic() - started) / max(1, len(days))
    return [file.written(kind.name, part.number, day, store.bytes_of(file.path), seconds) for day, file in days.items()]


class _File:
    """A Parquet file under way; rows wait until they make a row group."""

    def __init__(self, writer: pq.ParquetWriter, path: str, at: str) -> None:
        self.writer, self.path, self.at = writer, path, at
        self.waiting: list[pa.RecordBatch] = []
        self.waiting_bytes = self.rows = 0
        self.first_at: datetime = datetime.max.replace(tzinfo=UTC)
        self.last_at: datetime = datetime.min.replace(tzinfo=UTC)

    def add(self, rows: pa.RecordBatch) -> None:
        ends = pc.min_max(rows.column(self.at)).as_py()
        self.first_at, self.last_at = min(self.first_at, ends["min"]), max(self.last_at, ends["max"])
        self.waiting.append(rows)
        self.waiting_bytes += rows.nbytes
        self.rows += rows.num_rows
        if self.waiting_bytes >= FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        if self.waiting:
            table = pa.Table.from_batches(self.waiting)
            self.writer.write_table(table, row_group_size=table.num_rows)
            self.waiting, self.waiting_bytes = [], 0

    def written(self, kind: str, part: int, day: str, size: int, seconds: float) -> Written:
        """The file when it is closed."""
        return Written(kind, part, day, self.path, self.rows, size, self.first_at, self.last_at, seconds)


@contextmanager
def _file_of(store: Store, path: str, kind: Kind) -> Iterator[_File]:
    with store.writing(path) as stream, pq.ParquetWriter(stream, kind.schema, compression="zstd") as writer:
        file = _File(writer, path, kind.at)
        yield file
        file.flush()


def _by_day(batch: pa.RecordBatch, at: str) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The batch by days in UTC; nearly always there is one."""
    days = pc.strftime(batch.column(at), format="%Y-%m-%d")
    names = pc.unique(days).to_pylist()
    for name in names:
        yield name, batch if len(names) == 1 else batch.filter(pc.equal(days, name))


def _batches(job: Job, kind: Kind, part: Part) -> Iterator[pa.RecordBatch]:
    import adbc_driver_postgresql
    import adbc_driver_postgresql.dbapi as postgresql

    hint = {adbc_driver_postgresql.StatementOptions.BATCH_SIZE_HINT_BYTES.value: str(BATCH_BYTES)}
    with postgresql.connect(job.dsn, autocommit=True) as connection, connection.cursor(adbc_stmt_kwargs=hint) as cursor:
        for name, value in _session(part).items():
            cursor.execute("select set_config($1, $2, false)", (name, str(value)))
            cursor.fetchall()
        cursor.execute(kind.statement)
        for batch in cursor.fetch_record_batch():
            yield as_columns(batch, kind.schema)


def _session(part: Part) -> dict[str, int | str]:
    return {
        "application_name": f"signalbox archive {part.kind}",
        "statement_timeout": STATEMENT_MILLISECONDS,
        "default_transaction_read_only": "on",
        "pipeline.low": part.low,
        "pipeline.high": part.high,
    }
