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
from pipeline.archive.spark_reading import each_by_a_task
from pipeline.jobs.runs import heeding
from pipeline.models import Run
from pipeline.spark import sessions
from pipeline.spark.sessions import NoJava as NoJava

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Piece = TypeVar("Piece")
Made = TypeVar("Made")


class OnSpark(ExitStack):
    """A session that starts when it is first needed: a run that finds nothing to do starts no Java."""

    def __init__(self, master: str, options: Mapping[str, object], owner: int | None = None) -> None:
        """Run, with an owner, which may be 0, in the server that this machine keeps (`sessions.open_session`)."""
        super().__init__()
        self._session = sessions.open_session(master, options, owner)
        self._spark: SparkSession | None = None

    def __call__(self) -> SparkSession:
        self._spark = self._spark or self.enter_context(self._session)
        return self._spark

    def write_parts(self, job: Job, parts: Sequence[Part]) -> Iterator[Written]:
        """Write as many parts at once as `PIPELINE_CONNECTIONS` allows; each file is known when its part is done."""
        spark, job = self(), replace(job, yields=settings.PIPELINE_NICE)
        with heeding(Run.Kind.ARCHIVE, spark):
            yield from at_once(lambda part: write_parts(spark, job, [part]), parts, settings.PIPELINE_CONNECTIONS)


def write_parts(spark: SparkSession, job: Job, parts: Sequence[Part]) -> list[Written]:
    """Write each part in a task of its own, all of them at once where there is room."""

    def write(part: Part) -> Iterator[pa.RecordBatch]:
        written = extracting.write_part(job, part)
        yield pa.RecordBatch.from_pylist([asdict(file) for file in written], schema=WRITTEN)

    rows = each_by_a_task(spark, parts, write, WRITTEN).toArrow()
    return [Written(**row) for row in rows.to_pylist()]


def at_once(work: Callable[[Piece], Sequence[Made]], pieces: Sequence[Piece], room: int) -> Iterator[Made]:
    """Yield what `work` makes of the pieces as they are done, `room` of them at a time.

    A caller that stops waits for those that have begun; no other is begun then, nor after an error.
    """
    with ThreadPoolExecutor(room, thread_name_prefix="pipeline") as threads:
        begun = (threads.submit(work, piece) for piece in pieces)
        under_way = set(islice(begun, room))
        while under_way:
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            made = [one for future in done for one in future.result()]
            under_way.update(islice(begun, len(done)))
            yield from made
