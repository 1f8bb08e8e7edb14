"""Run the parts of an archive run as tasks of Spark, in a session that starts when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import asdict, replace
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
from django.conf import settings

from pipeline.archive import extracting
from pipeline.archive.extracting import WRITTEN, Job, Written
from pipeline.archive.parts import Part
from pipeline.archive.spark_tables import each_by_a_task
from pipeline.jobs.runs import interrupted_when_cancelled
from pipeline.models import Run
from pipeline.spark import sessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")


class OnSpark(ExitStack):
    """A Spark session that starts when it is first called, so that a run with nothing to do starts no Java."""

    def __init__(self, master: str, options: Mapping[str, object], owner: int | None = None) -> None:
        """Prepare the session; with an owner (a process id or 0) it runs in this machine's kept server."""
        super().__init__()
        self._session = sessions.open_session(master, options, owner)
        self._spark: SparkSession | None = None

    def __call__(self) -> SparkSession:
        self._spark = self._spark or self.enter_context(self._session)
        return self._spark

    def write_parts(self, job: Job, parts: Sequence[Part]) -> Iterator[Written]:
        """Write `PIPELINE_CONNECTIONS` parts at a time, and yield the files of each part when it is done."""
        spark, job = self(), replace(job, yields=settings.PIPELINE_NICE)
        with interrupted_when_cancelled(Run.Kind.ARCHIVE, spark):
            yield from at_once(lambda part: write_parts(spark, job, [part]), parts, settings.PIPELINE_CONNECTIONS)


def write_parts(spark: SparkSession, job: Job, parts: Sequence[Part]) -> list[Written]:
    """Write each part in a task of its own, on as many at once as Spark has cores."""

    def write(part: Part) -> Iterator[pa.RecordBatch]:
        written = extracting.write_part(job, part)
        yield pa.RecordBatch.from_pylist([asdict(file) for file in written], schema=WRITTEN)

    rows = each_by_a_task(spark, parts, write, WRITTEN).toArrow()
    return [Written(**row) for row in rows.to_pylist()]


def at_once(work: Callable[[Item], Sequence[Result]], items: Sequence[Item], limit: int) -> Iterator[Result]:
    """Run `work` on the items in threads, `limit` at a time, and yield the results of each item when it is done.

    After an error, or when the caller stops iterating, no further item begins; running ones are waited for.
    """
    with ThreadPoolExecutor(limit, thread_name_prefix="pipeline") as threads:
        begun = (threads.submit(work, item) for item in items)
        running = set(islice(begun, limit))
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            results = [result for future in done for result in future.result()]
            running.update(islice(begun, len(done)))
            yield from results
