"""Files of the manifest as tables of Spark's, whatever version of the pipeline wrote them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from pipeline.archive.files import Store
from pipeline.archive.kinds import KINDS, as_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH_ROWS = 50_000
PATTERN = re.compile(r"[]\[{}*?\\]")
"""What Hadoop's globs give a meaning."""


def table(spark: SparkSession, url: str, kind: str, paths: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """These columns of these files; a column that a file does not have yet is null there.

    From a folder Spark reads by itself. It knows no object store without more Java, and takes some names of folders for
    patterns, so tasks of ours read those.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    chosen = pa.schema([KINDS[kind].schema.field(name) for name in columns])
    schema = from_arrow_schema(chosen)
    store = Store(url)
    if not paths:
        return spark.createDataFrame([], schema)
    if store.is_folder and not PATTERN.search(store.root):
        return spark.read.schema(schema).parquet(*[f"file://{store.root}/{path}" for path in paths])
    return by_tasks(spark, url, chosen, paths)


def by_tasks(spark: SparkSession, url: str, schema: pa.Schema, paths: Sequence[str]) -> DataFrame:
    """The same by tasks that each read a file through Arrow."""
    from pyspark.sql.pandas.types import from_arrow_schema

    given = list(paths)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store = Store(url)
        for batch in batches:
            for place in batch.column(0).to_pylist():
                for rows in store.batches(given[place], schema.names, BATCH_ROWS):
                    yield as_columns(rows, schema)

    return spark.range(0, len(given), 1, len(given)).mapInArrow(work, from_arrow_schema(schema))
