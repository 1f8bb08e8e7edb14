"""Tables of Spark over files of the archive, whichever version of the pipeline wrote them.

The files of one table lie in several archives when the archive's address was changed between runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from pipeline.archive.files import Store
from pipeline.archive.schemas import KINDS, as_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Item = TypeVar("Item")

BATCH_ROWS = 50_000
HADOOP_GLOB = re.compile(r"[]\[{}*?\\]")
"""Characters that Hadoop reads as a pattern."""


def of_files(spark: SparkSession, kind: str, files: Iterable[Any], columns: Sequence[str]) -> DataFrame:
    """Read these columns of files: rows of `pipeline.models.ArchiveFile` with their runs."""
    tables = [table(spark, url, kind, paths, columns) for url, paths in paths_by_url(files).items()]
    return union(tables) if tables else table(spark, ".", kind, [], columns)


def paths_by_url(files: Iterable[Any]) -> dict[str, list[str]]:
    """Group the paths of files by the address of their archive."""
    by_url: dict[str, list[str]] = {}
    for file in files:
        by_url.setdefault(file.run.url, []).append(file.path)
    return by_url


def union(tables: Sequence[DataFrame]) -> DataFrame:
    """Append tables with the same column names to each other."""
    return reduce(lambda first, second: first.unionByName(second), tables)


def rows_of(table: DataFrame) -> list[dict[str, Any]]:
    """Fetch all rows of a table as dictionaries."""
    rows: list[dict[str, Any]] = table.toArrow().to_pylist()
    return rows


def table(spark: SparkSession, url: str, kind: str, paths: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """Read these columns of files in one archive; a column that a file does not have is null.

    Spark itself reads folders. Object stores would need more Java libraries, and Hadoop takes some folder names for
    patterns: tasks with Arrow read those.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    selected = pa.schema([KINDS[kind].schema.field(name) for name in columns])
    schema, store = from_arrow_schema(selected), Store(url)
    if not paths:
        return spark.createDataFrame([], schema)
    if store.is_folder and not HADOOP_GLOB.search(store.root):
        return spark.read.schema(schema).parquet(*[f"file://{store.root}/{path}" for path in paths])
    return by_tasks(spark, url, selected, paths)


def by_tasks(spark: SparkSession, url: str, schema: pa.Schema, paths: Sequence[str]) -> DataFrame:
    """Read each file in a task of its own through Arrow."""

    def read(path: str) -> Iterator[pa.RecordBatch]:
        for rows in Store(url).batches(path, schema.names, BATCH_ROWS):
            yield as_columns(rows, schema)

    return each_by_a_task(spark, paths, read, schema)


def each_by_a_task(
    spark: SparkSession, items: Iterable[Item], work: Callable[[Item], Iterable[pa.RecordBatch]], schema: pa.Schema
) -> DataFrame:
    """Run the work on each item in a task of its own, on as many at once as Spark has cores."""
    from pyspark.sql.pandas.types import from_arrow_schema

    listed = list(items)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield from work(listed[index])

    return spark.range(0, len(listed), 1, len(listed)).mapInArrow(task, from_arrow_schema(schema))
