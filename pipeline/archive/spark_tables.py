"""Files of the manifest as one table of Spark's, though they lie in several archives, where its address has changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from pipeline.archive import spark_reading
from pipeline.models import ArchiveFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def of_files(spark: SparkSession, kind: str, files: Iterable[ArchiveFile], columns: Sequence[str]) -> DataFrame:
    """Read these columns; `files` come with their runs."""
    tables = [spark_reading.table(spark, url, kind, paths, columns) for url, paths in paths_by_url(files).items()]
    return together(tables) if tables else spark_reading.table(spark, ".", kind, [], columns)


def paths_by_url(files: Iterable[ArchiveFile]) -> dict[str, list[str]]:
    by_url: dict[str, list[str]] = {}
    for file in files:
        by_url.setdefault(file.run.url, []).append(file.path)
    return by_url


def together(tables: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other), tables)


def rows_of(table: DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.toArrow().to_pylist()
    return rows
