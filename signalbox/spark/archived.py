"""Archived messages of a stream, from the files that the manifest of the archive names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import InputPartition

from signalbox.spark.reading import Question, value

if TYPE_CHECKING:
    import pyarrow as pa

ARCHIVED = f"""
select f.partition, f.archived_position
from signalbox.stream_partition f
where f.stream_id = {value("stream_id", "integer")}
"""  # noqa: S608 - literals of this package
FILES = f"""
select r.url, f.path
from signalbox.pipeline_file f
join signalbox.pipeline_run r on r.run_id = f.run_id
where f.kind = 'stream_messages' and exists (
  select
  from jsonb_array_elements(r.parts) p
  cross join jsonb_array_elements(p -> 'ranges') g
  where (p ->> 'number')::integer = f.part and (g ->> 0)::integer = {value("stream_id", "integer")}
)
order by f.file_id
"""  # noqa: S608 - literals of this package


@dataclass(frozen=True)
class ArchivedFile(InputPartition):
    """One file, and the positions to read from it, as (partition, first, last)."""

    url: str
    path: str
    stream_id: int
    ranges: tuple[tuple[int, int, int], ...]


def archived_positions(connection: Question, stream_id: int) -> dict[int, int]:
    """Read the last archived position of each partition. Read the files afterwards: they have all of these."""
    rows = connection.rows(ARCHIVED, {"stream_id": stream_id})
    return {int(partition): position for partition, position in rows}


def files_of(connection: Question, stream_id: int, ranges: Sequence[tuple[int, int, int]]) -> list[InputPartition]:
    """Make a task of each file that has messages of the stream."""
    rows = connection.rows(FILES, {"stream_id": stream_id}) if ranges else []
    return [ArchivedFile(url, path, stream_id, tuple(ranges)) for url, path in rows]


def batches(file: ArchivedFile, names: Sequence[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Read the messages of one file; row groups of other streams are skipped by their statistics."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    system, root = _opened(file.url)
    dataset = ds.dataset(f"{root}/{file.path}", filesystem=system, format="parquet")
    partition, position = ds.field("partition"), ds.field("position")
    wanted = ds.scalar(False)
    for number, low, high in file.ranges:
        wanted = wanted | ((partition == number) & (position >= low) & (position <= high))
    known = [name for name in names if name in dataset.schema.names]  # archived before there was the column: null
    for batch in dataset.to_batches(columns=known, filter=(ds.field("stream_id") == file.stream_id) & wanted):
        columns = [
            batch.column(one.name).cast(one.type) if one.name in known else pa.nulls(batch.num_rows, one.type)
            for one in schema
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _opened(url: str) -> tuple[Any, str]:
    """Open a folder, an object store of Arrow, or any store that fsspec can open."""
    import pyarrow as pa
    import pyarrow.fs as fs

    try:
        system, root = fs.FileSystem.from_uri(url)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
        import fsspec

        system, root = fsspec.core.url_to_fs(url)
        system = fs.PyFileSystem(fs.FSSpecHandler(system))
    return system, root.rstrip("/")
