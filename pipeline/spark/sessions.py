"""The Spark sessions of this process: in their own Java, on a Spark cluster, or in the server of this machine.

They use only what Spark Connect supports, so that the same lines run on this machine, on a Spark cluster, and in a
server that outlives the job.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from pipeline.spark import class_sharing, keeper
from pipeline.spark.class_sharing import JAVA_OPTIONS, SharedClasses
from pipeline.spark.packing import packed

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
# A session of this machine is private: neither other machines nor other users of this one reach it.
LOOPBACK = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.authenticate": "true",
}
CONNECT_SERVER = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    # Jobs bring no code of their own, so they share Python processes, and the next job starts none.
    "spark.sql.artifact.isolation.enabled": "false",
}
NAME = "signalbox pipeline"
LOCAL, CONNECT = "local", "sc://"
LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
PY_FILES = "spark.submit.pyFiles"
BELOW_SUBMIT = "PYSPARK_GATEWAY_PORT"
"""Set when spark-submit has started us, and with it the Java."""
RETRIES = 5
"""How often a client tries to reach a kept server again: for some 17 seconds."""


class NoJava(RuntimeError):  # noqa: N818 - it names what is the matter
    """Spark needs Java 17 or newer, and there is none on PATH or in JAVA_HOME."""


@contextmanager
def open_session(master: str, options: Mapping[str, object], owner: int | None) -> Iterator[SparkSession]:
    """Open a session; with an owner, which may be 0, and the master of this machine, in the kept server."""
    if owner is None or not master.startswith(LOCAL) or not settings.SPARK_SERVER_IDLE_SECONDS:
        with session(master, options, settings.SPARK_CLASSES) as spark:
            yield spark
        return
    with keeper.use(keeper.ServerFolder(settings.SIGNALBOX_HOME), owner) as url, session(url, options) as spark:
        _limit_retries(spark)
        yield spark


def _limit_retries(session: Any) -> None:
    """Give up soon: a server of this machine that does not answer has died."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES)])


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
    """Open a session in a Java of its own, which ends with it."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    given = settings_of(master, options)
    with SharedClasses(classes).used(given) if classes else nullcontext(given) as given:
        with java_environment():
            spark = _with(SparkSession.builder.appName(NAME).master(master), given).getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
            gateway: Any = SparkContext._gateway
            SparkContext._gateway = SparkContext._jvm = None  # the next session starts another
            gateway.close()
            class_sharing.end(gateway.proc)


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
    """Connect to a server. The Java is the server's own affair; the session gets the options of its queries."""
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell import PROGRESS_BAR_ENABLED

    if options.get(BAR) == "true" and sys.stdout.isatty():  # where its client draws
        os.environ[PROGRESS_BAR_ENABLED] = "1"
    given = {name: value for name, value in (OWN | dict(options)).items() if _is_of_sql(name)}
    with _with(SparkSession.builder.remote(url), given).create() as spark:
        yield spark


def settings_of(master: str, options: Mapping[str, object]) -> dict[str, str]:
    """Collect the settings of a session of our own. On another machine than this one the tasks need our code."""
    ours = OWN | (LOOPBACK if master.startswith(LOCAL) else {PY_FILES: str(packed())})
    return {name: str(value) for name, value in (ours | dict(options)).items()}


def light(options: Mapping[str, object]) -> dict[str, object]:
    """Speed up a Java that hands out work and does none itself: compiling its code would take longer than its work."""
    return {**options, JAVA_OPTIONS: f"{LIGHT} {options.get(JAVA_OPTIONS, '')}".strip()}


@contextmanager
def java_environment(**more: str) -> Iterator[None]:
    """Set the environment of a Java that starts within the block, and of nothing later."""
    if not has_java():
        raise NoJava(NoJava.__doc__)
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it says goodbye to each of its connections
    before = dict(os.environ)
    given = filter(None, [before.get("PYTHONPATH")])
    path = os.pathsep.join([str(PYTHON_PATH), str(ROOT), *given])
    changed = {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, **more}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name in changed:
            os.environ.pop(name, None)
        os.environ.update((name, before[name]) for name in changed if name in before)


def _with(builder: Any, options: Mapping[str, object]) -> Any:
    for name, value in options.items():
        builder = builder.config(name, str(value))
    return builder


def _is_of_sql(name: str) -> bool:
    return name.startswith(("spark.sql.", "spark.python.sql."))


def has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return bool(home and (Path(home) / "bin" / "java").exists()) or shutil.which("java") is not None


class KeptJava:
    """A classic Spark context with the plugin that serves Spark Connect: what a keeper keeps."""

    def __init__(self, master: str, options: Mapping[str, object], classes: Path) -> None:
        from pyspark import SparkConf, SparkContext

        self.token = secrets.token_urlsafe(32)
        self.port, self.other = own_port()
        given = settings_of(master, options) | CONNECT_SERVER | {"spark.connect.grpc.binding.port": str(self.port)}
        self.started = ExitStack()
        given = self.started.enter_context(SharedClasses(classes).used(given))
        conf = SparkConf().setMaster(master).setAppName("signalbox server").setAll(list(given.items()))
        # The token stands in no command line, which every user may read.
        with java_environment(SPARK_CONNECT_AUTHENTICATE_TOKEN=self.token):
            self.context = SparkContext(conf=conf)
        gateway: Any = self.context._gateway
        self.process = gateway.proc

    def lives(self) -> bool:
        return self.process.poll() is None

    def clear(self) -> None:
        """End what killed jobs have left under way. No other job uses it: the keeper holds the lock."""
        self.context.cancelAllJobs()

    def stop(self) -> None:
        """Stop the Java, which takes some seconds more where its classes are written for the next."""
        with self.started:
            class_sharing.end(self.process)


def own_port() -> tuple[int, socket.socket | None]:
    """Find a free port of 127.0.0.1 and hold the same port of ::1, where there is such an address.

    Clients try ::1 first, and would give their token to another process that listens there.
    """
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        other = None
        try:
            other = socket.socket(socket.AF_INET6)
            other.bind(("::1", port))
        except OSError as error:
            if other is not None:
                other.close()
            if error.errno != errno.EADDRINUSE:
                return port, None
        else:
            return port, other
