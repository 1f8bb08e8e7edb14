"""The task of an archive run: rows of one part out of PostgreSQL into Parquet, a row group at a time.

It knows nothing but its arguments, and what it writes is named after them: done again, it puts the same in the same
place. Rows go from the server to the file in Arrow's columns; Python sees none of them.
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
from pipeline.archive.schemas import FLUSH_BYTES, KINDS, TIME, Kind
from pipeline.archive.yielding import others_at_work, wait_until_replayed, yielding

REPEATED = ("queue", "tenant", "outcome", "consumer", "group_id", "reason", "error_class", "error", "fingerprint")


@dataclass(frozen=True)
class Job:
    """The common facts of the tasks of one run."""

    dsn: str = field(repr=False)
    url: str
    prefix: str
    """Of the names of its files: the run's number and token."""
    log_place: str = ""
    """Up to which the primary's log has all of the window, where `dsn` may be a standby's."""
    yields: bool = False
    """Its tasks rest while others are at work in the database."""


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
    loose: int = 0
    """Of its rows, those that no transaction of the history wrote (`parts.LOOSE`)."""


WRITTEN = pa.schema(
    [
        *[(name, pa.string()) for name in ("kind", "day", "path")],
        *[(name, pa.int64()) for name in ("part", "rows", "bytes", "loose")],
        *[(name, TIME) for name in ("first_at", "last_at")],
        ("seconds", pa.float64()),
    ]
)


def write_part(job: Job, part: Part) -> list[Written]:
    """Put a part's rows into one file for each day, and say which."""
    started, kind, store = time.monotonic(), KINDS[part.kind], Store(job.url)
    days: dict[str, _File] = {}
    if job.log_place:
        wait_until_replayed(job.dsn, job.log_place)
    with ExitStack() as opened:
        found = batches(job.dsn, kind, part)
        if job.yields:
            found = yielding(found, opened.enter_context(others_at_work(job.dsn)))
        for batch in found:
            for on, rows in _by_day(batch, kind.at):
                if (day := on.isoformat()) not in days:
                    path = f"{kind.name}/day={day}/{job.prefix}-{part.number:05}.parquet"
                    days[day] = opened.enter_context(_file_of(store, path, kind))
                days[day].add(rows)
                _flush_the_fullest(days.values())
    seconds = (time.monotonic() - started) / max(1, len(days))
    return [file.written(kind.name, part.number, day, store.bytes_of(file.path), seconds) for day, file in days.items()]


def _flush_the_fullest(files: Collection[_File]) -> None:
    """Flush the fullest file, so that the rows in memory are bounded however many days a part has."""
    while sum(file.waiting_bytes for file in files) >= FLUSH_BYTES:
        max(files, key=lambda file: file.waiting_bytes).flush()


class _File:
    """A Parquet file under way; rows wait until they make a row group."""

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
        self.loose += pc.sum(pc.equal(rows.column("txid"), LOOSE)).as_py() or 0

    def flush(self) -> None:
        if self.waiting:
            table = pa.Table.from_batches(self.waiting)
            self.writer.write_table(table, row_group_size=table.num_rows)
            self.waiting, self.waiting_bytes = [], 0

    def written(self, kind: str, part: int, day: str, size: int, seconds: float) -> Written:
        """The file when it is closed."""
        return Written(kind, part, day, self.path, self.rows, size, self.first_at, self.last_at, seconds, self.loose)


def writer_options(kind: Kind) -> dict[str, Any]:
    """Dictionaries for words that come again; looking for them in ids, times and bodies costs time and room."""
    return {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [name for name in REPEATED if name in kind.schema.names],
    }


@contextmanager
def _file_of(store: Store, path: str, kind: Kind) -> Iterator[_File]:
    with store.writing(path) as stream, pq.ParquetWriter(stream, kind.schema, **writer_options(kind)) as writer:
        file = _File(writer, path, kind.at)
        yield file
        file.flush()


def _by_day(batch: pa.RecordBatch, at: str) -> Iterator[tuple[date, pa.RecordBatch]]:
    """The batch by days in UTC; nearly always there is one."""
    days = batch.column(at).cast(pa.date32())
    names = pc.unique(days).to_pylist()
    for name in names:
        yield name, batch if len(names) == 1 else batch.filter(pc.equal(days, name))
