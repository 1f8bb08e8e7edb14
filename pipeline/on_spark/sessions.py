"""Spark sessions of this process, with what this project asks of each.

Only what Spark Connect knows too is used in them, so that the same lines run on this machine, on a cluster, and in a
server that outlives the job.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.on_spark import loaded_classes
from pipeline.on_spark.loaded_classes import JAVA_OPTIONS, LoadedClasses
from pipeline.on_spark.packing import packed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
PYTHON_PATH = Path(__file__).resolve().parent / "python_path"

BAR = "spark.ui.showConsoleProgress"
OWN = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.enabled": "false",
    BAR: "false",
    # No note, of each column that is named, which line did so: for each it would speak eleven times more with Java.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # How long a task that is no longer wanted may go on; while Java waits for that, it looks without a pause.
    "spark.python.task.killTimeout": "100ms",
}
# A session of this machine is for nobody else: nothing of it is to be reached from another, nor by other users of this.
LOOPBACK = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.authenticate": "true",
}
NAME = "signalbox pipeline"
LOCAL, CONNECT = "local", "sc://"
LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
PY_FILES = "spark.submit.pyFiles"
BELOW_SUBMIT = "PYSPARK_GATEWAY_PORT"
"""Set when spark-submit has started us, and with it the Java."""


class NoJava(RuntimeError):  # noqa: N818 - it names what is the matter
    """Spark needs Java 17 or newer, and there is none on PATH or in JAVA_HOME."""


@contextmanager
def session(master: str, options: Mapping[str, object], classes: Path | None = None) -> Iterator[SparkSession]:
    """A session of this process, stopped at the end; one that is there already is used, and left alone.

    `master` is one of Spark's, or the address of a Spark Connect server. Below spark-submit its own counts. In the
    folder `classes` a Java of our own finds what earlier ones loaded.
    """
    from pyspark.sql import SparkSession

    if (active := SparkSession.getActiveSession()) is not None:
        yield active
        return
    if master.startswith(CONNECT):
        opened = _connected(master, options)
    elif BELOW_SUBMIT in os.environ:
        opened = _submitted(options)
    else:
        opened = _own(master, options, classes)
    with opened as spark:
        yield spark


@contextmanager
def _own(master: str, options: Mapping[str, object], classes: Path | None) -> Iterator[Any]:
    """In a Java of its own, which ends with it."""
    from pyspark.sql import SparkSession

    given = settings_of(master, options)
    with LoadedClasses(classes).used(given) if classes else nullcontext(given) as given:
        builder = SparkSession.builder.appName(NAME).master(master)
        with java_environment():
            spark = _with(builder, given).getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
            _end_java()


def _end_java() -> None:
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None  # the next session starts another
    gateway.close()
    loaded_classes.end(gateway.proc)


@contextmanager
def _submitted(options: Mapping[str, object]) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    given = OWN | {name: value for name, value in options.items() if _is_of_sql(name)}
    with java_environment():
        submitted = _with(SparkSession.builder.appName(NAME), given).getOrCreate()
    with submitted as spark:
        yield spark


@contextmanager
def _connected(url: str, options: Mapping[str, object]) -> Iterator[Any]:
    """What concerns the Java is the server's own affair; the session gets what concerns its queries."""
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell import PROGRESS_BAR_ENABLED

    if options.get(BAR) == "true" and sys.stdout.isatty():  # where its client draws
        os.environ[PROGRESS_BAR_ENABLED] = "1"
    given = {name: value for name, value in (OWN | dict(options)).items() if _is_of_sql(name)}
    with _with(SparkSession.builder.remote(url), given).create() as spark:
        yield spark


def settings_of(master: str, options: Mapping[str, object]) -> dict[str, str]:
    """All that a session of our own is given. On another machine than this one the tasks need our code."""
    ours = OWN | (LOOPBACK if master.startswith(LOCAL) else {PY_FILES: str(packed())})
    return {name: str(value) for name, value in (ours | dict(options)).items()}


def light(options: Mapping[str, object]) -> dict[str, object]:
    """For a Java that hands out work and does none itself: to make its code faster would take longer than its work."""
    return {**options, JAVA_OPTIONS: f"{LIGHT} {options.get(JAVA_OPTIONS, '')}".strip()}


@contextmanager
def java_environment(**more: str) -> Iterator[None]:
    """What a Java has to know that is started meanwhile. Nothing that this process starts later is to know it."""
    _check_java()
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it says goodbye to each of its connections
    before = dict(os.environ)
    given = filter(None, [before.get("PYTHONPATH")])
    ours = {"PYTHONPATH": os.pathsep.join([str(PYTHON_PATH), str(ROOT), *given]), "PYSPARK_PYTHON": sys.executable}
    changed = ours | more
    os.environ.update(changed)
    try:
        yield
    finally:
        for name in changed:
            if name in before:
                os.environ[name] = before[name]
            else:
                os.environ.pop(name, None)


def _with(builder: Any, options: Mapping[str, object]) -> Any:
    for name, value in options.items():
        builder = builder.config(name, str(value))
    return builder


def _is_of_sql(name: str) -> bool:
    return name.startswith(("spark.sql.", "spark.python.sql."))


def has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return bool(home and (Path(home) / "bin" / "java").exists()) or shutil.which("java") is not None


def _check_java() -> None:
    if not has_java():
        raise NoJava(NoJava.__doc__)
