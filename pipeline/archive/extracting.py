"""The task of an archive run: write the rows of one part to Parquet files, a row group at a time.

The files and their names follow from the task's arguments alone: a task that is repeated writes the same files again.
Rows stay in Arrow's columns between PostgreSQL and the file, and never become Python objects.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.archive.files import Store
from pipeline.archive.parts import LOOSE, Part
from pipeline.archive.querying import batches
from pipeline.archive.schemas import FLUSH_BYTES, KINDS, Kind, schema_of
from pipeline.archive.yielding import others_at_work, wait_until_replayed, yielding

REPEATED = (
    "queue",
    "stream",
    "tenant",
    "outcome",
    "consumer",
    "group_id",
    "reason",
    "error_class",
    "error",
    "fingerprint",
)


@dataclass(frozen=True)
class Job:
    """Arguments that all tasks of one run share."""

    dsn: str = field(repr=False)
    url: str
    prefix: str
    """The first part of the names of the run's files: its number and token."""
    log_position: str = ""
    """Position in the primary's write-ahead log that a standby at `dsn` must have replayed; empty for the primary."""
    yields: bool = False
    """Whether tasks rest while other sessions work in the database."""


@dataclass(frozen=True)
class Written:
    """A complete file in the store."""

    kind: str
    part: int
    day: str
    path: str
    rows: int
    bytes: int
    first_at: datetime
    last_at: datetime
    seconds: float
    loose: int = 0
    """How many of its rows have the transaction id `parts.LOOSE`."""


WRITTEN = schema_of(
    "kind text, day text, path text, part bigint, rows bigint, bytes bigint, loose bigint",
    "first_at timestamptz, last_at timestamptz, seconds double",
)


def write_part(job: Job, part: Part) -> list[Written]:
    """Write a part's rows to one file for each day; return the files."""
    started, kind, store = time.monotonic(), KINDS[part.kind], Store(job.url)
    days: dict[str, _File] = {}
    if job.log_position:
        wait_until_replayed(job.dsn, job.log_position)
    with ExitStack() as opened:
        read = batches(job.dsn, kind, part)
        if job.yields:
            read = yielding(read, opened.enter_context(others_at_work(job.dsn)))
        for batch in read:
            for date_of_rows, rows in _by_day(batch, kind.at):
                if (day := date_of_rows.isoformat()) not in days:
                    path = f"{kind.name}/day={day}/{job.prefix}-{part.number:05}.parquet"
                    days[day] = opened.enter_context(_open_file(store, path, kind))
                days[day].add(rows)
                _flush_largest(days.values())
    seconds = (time.monotonic() - started) / max(1, len(days))
    return [file.written(kind.name, part.number, day, store.bytes_of(file.path), seconds) for day, file in days.items()]


def _flush_largest(files: Collection[_File]) -> None:
    """Write row groups until the rows in memory are below the limit, however many days a part has."""
    while sum(file.waiting_bytes for file in files) >= FLUSH_BYTES:
        max(files, key=lambda file: file.waiting_bytes).flush()


class _File:
    """A Parquet file that is being written; rows are collected into row groups."""

    def __init__(self, writer: pq.ParquetWriter, path: str, at: str) -> None:
        self.writer, self.path, self.at = writer, path, at
        self.waiting: list[pa.RecordBatch] = []
        self.waiting_bytes = self.rows = self.loose = 0
        self.first_at: datetime = datetime.max.replace(tzinfo=UTC)
        self.last_at: datetime = datetime.min.replace(tzinfo=UTC)

    def add(self, rows: pa.RecordBatch) -> None:
        ends = pc.min_max(rows.column(self.at)).as_py()
        self.first_at, self.last_at = min(self.first_at, ends["min"]), max(self.last_at, ends["max"])
        self.waiting.append(rows)
        self.waiting_bytes += rows.nbytes
        self.rows += rows.num_rows
        if "txid" in rows.schema.names:
            self.loose += pc.sum(pc.equal(rows.column("txid"), LOOSE)).as_py() or 0

    def flush(self) -> None:
        if self.waiting:
            table = pa.Table.from_batches(self.waiting)
            self.writer.write_table(table, row_group_size=table.num_rows)
            self.waiting, self.waiting_bytes = [], 0

    def written(self, kind: str, part: int, day: str, size: int, seconds: float) -> Written:
        """Describe the file after it was closed."""
        return Written(kind, part, day, self.path, self.rows, size, self.first_at, self.last_at, seconds, self.loose)


def writer_options(kind: Kind) -> dict[str, Any]:
    """Options of the Parquet writer. Only columns with few distinct values are encoded with a dictionary."""
    return {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [name for name in REPEATED if name in kind.schema.names],
    }


@contextmanager
def _open_file(store: Store, path: str, kind: Kind) -> Iterator[_File]:
    with store.writing(path) as stream, pq.ParquetWriter(stream, kind.schema, **writer_options(kind)) as writer:
        file = _File(writer, path, kind.at)
        yield file
        file.flush()


def _by_day(batch: pa.RecordBatch, at: str) -> Iterator[tuple[date, pa.RecordBatch]]:
    """Divide a batch by its days in UTC; nearly all batches have one."""
    days = batch.column(at).cast(pa.date32())
    distinct = pc.unique(days).to_pylist()
    for day in distinct:
        yield day, batch if len(distinct) == 1 else batch.filter(pc.equal(days, day))
