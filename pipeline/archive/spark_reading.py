"""Files of the manifest as tables of Spark's, whatever version of the pipeline wrote them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from pipeline.archive.files import Store
from pipeline.archive.schemas import KINDS, as_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Given = TypeVar("Given")

BATCH_ROWS = 50_000
PATTERN = re.compile(r"[]\[{}*?\\]")
"""What Hadoop's globs give a meaning."""


def table(spark: SparkSession, url: str, kind: str, paths: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """Read these columns of these files; a column that a file does not have yet is null there.

    Spark itself reads from a folder. It knows no object store without more Java, and takes some names of folders for
    patterns, so tasks with Arrow read those.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    chosen = pa.schema([KINDS[kind].schema.field(name) for name in columns])
    schema, store = from_arrow_schema(chosen), Store(url)
    if not paths:
        return spark.createDataFrame([], schema)
    if store.is_folder and not PATTERN.search(store.root):
        return spark.read.schema(schema).parquet(*[f"file://{store.root}/{path}" for path in paths])
    return by_tasks(spark, url, chosen, paths)


def by_tasks(spark: SparkSession, url: str, schema: pa.Schema, paths: Sequence[str]) -> DataFrame:
    """Read by tasks that each read a file through Arrow."""

    def read(path: str) -> Iterator[pa.RecordBatch]:
        for rows in Store(url).batches(path, schema.names, BATCH_ROWS):
            yield as_columns(rows, schema)

    return each_by_a_task(spark, paths, read, schema)


def each_by_a_task(
    spark: SparkSession, given: Iterable[Given], work: Callable[[Given], Iterable[pa.RecordBatch]], schema: pa.Schema
) -> DataFrame:
    """Do the work on each of these in a task of its own, all of them at once where there is room."""
    from pyspark.sql.pandas.types import from_arrow_schema

    each = list(given)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                yield from work(each[place])

    return spark.range(0, len(each), 1, len(each)).mapInArrow(task, from_arrow_schema(schema))
