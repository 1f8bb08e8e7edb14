"""How a run's parts become tasks, in a session that is there once it is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from django.conf import settings

from pipeline.archive import extracting
from pipeline.archive.extracting import WRITTEN, Job, Written
from pipeline.archive.parts import Part
from pipeline.models import Run
from pipeline.on_spark import where
from pipeline.on_spark.at_once import at_once
from pipeline.on_spark.cancelling import heeding
from pipeline.on_spark.sessions import NoJava as NoJava
from pipeline.on_spark.sessions import session as session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class OnSpark:
    """A session that is there once it is needed: a run that finds nothing to do starts no Java."""

    def __init__(self, master: str, options: Mapping[str, object], owner: int | None = None) -> None:
        """With an owner, which may be 0, in the server that this machine keeps (`pipeline.on_spark.where`)."""
        self._session = where.chosen(master, options, owner)
        self._spark: SparkSession | None = None

    def __enter__(self) -> OnSpark:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._spark is not None:
            self._session.__exit__(*error)

    def __call__(self) -> SparkSession:
        self._spark = self._spark or self._session.__enter__()
        return self._spark

    def write_parts(self, job: Job, parts: Sequence[Part]) -> Iterator[Written]:
        """As many at once as `PIPELINE_CONNECTIONS` allows; each file is known when its part is done."""
        spark, job = self(), replace(job, yields=settings.PIPELINE_PRIORITY == "idle")
        with heeding(Run.Kind.ARCHIVE, spark):
            yield from at_once(lambda part: write_parts(spark, job, [part]), parts, settings.PIPELINE_CONNECTIONS)


def write_parts(spark: SparkSession, job: Job, parts: Sequence[Part]) -> list[Written]:
    """Each part in a task of its own, all of them at once where there is room."""
    from pyspark.sql.pandas.types import from_arrow_schema

    given = list(parts)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                written = extracting.write_part(job, given[place])
                yield pa.RecordBatch.from_pylist([file.as_row() for file in written], schema=WRITTEN)

    rows = spark.range(0, len(given), 1, len(given)).mapInArrow(work, from_arrow_schema(WRITTEN)).toArrow()
    return [Written(**row) for row in rows.to_pylist()]
