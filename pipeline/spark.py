"""The Spark session that jobs run in, and how a run's parts become tasks.

Only what Spark Connect knows too is used here, so that the same lines run on this machine and on a cluster.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipeline import extracting
from pipeline.extracting import WRITTEN, Job, Written
from pipeline.parts import Part

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent
ARCHIVE_SCHEMA = (
    "kind string, part int, day string, path string, rows long, bytes long,"
    " first_at timestamp, last_at timestamp, seconds double"
)

OWN = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A session of ours is for nobody else: nothing of it is to be reached from another machine.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


class NoJava(RuntimeError):  # noqa: N818 - it names what is the matter
    """Spark needs Java 17 or newer, and there is none on PATH or in JAVA_HOME."""


@contextmanager
def session(master: str, options: Mapping[str, object]) -> Iterator[SparkSession]:
    """A session of this process, stopped at the end; one that is there already is used, and left alone."""
    from pyspark.sql import SparkSession

    if (active := SparkSession.getActiveSession()) is not None:
        yield active
        return
    _check_java()
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it says goodbye to each of its connections
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    builder = SparkSession.builder.master(master).appName("signalbox pipeline")
    for name, value in (OWN | dict(options)).items():
        builder = builder.config(name, str(value))
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


class OnSpark:
    """A session that is there once it is needed: a run that finds nothing to do starts no Java."""

    def __init__(self, master: str, options: Mapping[str, object]) -> None:
        self._session = session(master, options)
        self._spark: SparkSession | None = None

    def __enter__(self) -> OnSpark:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._spark is not None:
            self._session.__exit__(*error)

    def __call__(self) -> SparkSession:
        self._spark = self._spark or self._session.__enter__()
        return self._spark

    def write_parts(self, job: Job, parts: Sequence[Part]) -> list[Written]:
        return write_parts(self(), job, parts)


def write_parts(spark: SparkSession, job: Job, parts: Sequence[Part]) -> list[Written]:
    """Each part in a task of its own, all of them at once where there is room."""
    given = list(parts)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                written = extracting.write_part(job, given[place])
                yield pa.RecordBatch.from_pylist([file.as_row() for file in written], schema=WRITTEN)

    rows = spark.range(0, len(given), 1, len(given)).mapInArrow(work, ARCHIVE_SCHEMA).toArrow()
    return [Written(**row) for row in rows.to_pylist()]


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not (home and (Path(home) / "bin" / "java").exists()) and shutil.which("java") is None:
        raise NoJava(NoJava.__doc__)
