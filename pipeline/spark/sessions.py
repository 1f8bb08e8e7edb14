"""Spark sessions: in a Java process of their own, on a Spark cluster, or in the Spark server that this machine keeps.

The pipeline uses only what Spark Connect supports, so that the same code runs in all three.
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
from importlib.util import find_spec
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

PROGRESS_BAR = "spark.ui.showConsoleProgress"
DEFAULTS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.enabled": "false",
    PROGRESS_BAR: "false",
    # Else PySpark records the line of each column expression, with eleven more calls to Java for each.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # The time that a cancelled task may still run; Java uses a whole core while it waits for the task.
    "spark.python.task.killTimeout": "100ms",
}
# Neither other machines nor other users of this machine can connect to a local session.
LOOPBACK = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.authenticate": "true",
}
CONNECT_SERVER = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    # Jobs add no code of their own, so the Python workers of one job serve the next.
    "spark.sql.artifact.isolation.enabled": "false",
}
NAME = "signalbox pipeline"
LOCAL, CONNECT = "local", "sc://"
LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
PY_FILES = "spark.submit.pyFiles"
BELOW_SUBMIT = "PYSPARK_GATEWAY_PORT"
"""Environment variable that spark-submit sets when it has started this process and Java."""
RETRIES = 5
"""Attempts of a client to reach a kept server again, for about 17 seconds; then the server counts as dead."""


class NoJava(RuntimeError):  # noqa: N818 - it names what happened
    """Spark needs Java 17 or newer, and there is none on PATH or in JAVA_HOME."""


@contextmanager
def open_session(master: str, options: Mapping[str, object], owner: int | None) -> Iterator[SparkSession]:
    """Open a session; a local one with an owner (a process id or 0) runs in the kept server of this machine."""
    if owner is None or not master.startswith(LOCAL) or not settings.SPARK_SERVER_IDLE_SECONDS:
        with session(master, options, settings.SPARK_CLASSES) as spark:
            yield spark
        return
    from pyspark.sql.connect.client.retries import DefaultPolicy

    with keeper.use(keeper.ServerFolder(settings.SIGNALBOX_HOME), owner) as url, session(url, options) as spark:
        client: Any = spark.client
        client.set_retry_policies([DefaultPolicy(max_retries=RETRIES)])
        yield spark


@contextmanager
def session(master: str, options: Mapping[str, object], classes: Path | None = None) -> Iterator[SparkSession]:
    """Open a session, which is stopped after the block, or yield the active session of this process.

    `master` is a Spark master or the address of a Spark Connect server; under spark-submit its own master is used.
    A Java process that this starts shares loaded classes in the folder `classes` (`class_sharing`).
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
    """Open a session in a Java process of its own, which ends with the session."""
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
            SparkContext._gateway = SparkContext._jvm = None  # so that the next session starts a Java process
            gateway.close()
            class_sharing.end(gateway.proc)


@contextmanager
def _submitted(options: Mapping[str, object]) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    given = DEFAULTS | {name: value for name, value in options.items() if _is_session_option(name)}
    with java_environment():
        submitted = _with(SparkSession.builder.appName(NAME), given).getOrCreate()
    with submitted as spark:
        yield spark


@contextmanager
def _connected(url: str, options: Mapping[str, object]) -> Iterator[Any]:
    """Connect to a server, with the options that apply to a session; the others belong to the server's Java."""
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.shell import PROGRESS_BAR_ENABLED

    if options.get(PROGRESS_BAR) == "true" and sys.stdout.isatty():
        os.environ[PROGRESS_BAR_ENABLED] = "1"
    given = {name: value for name, value in (DEFAULTS | dict(options)).items() if _is_session_option(name)}
    with _with(SparkSession.builder.remote(url), given).create() as spark:
        yield spark


def settings_of(master: str, options: Mapping[str, object]) -> dict[str, str]:
    """Collect the settings of a session in a new Java process; a Spark cluster also gets the tasks' modules."""
    ours = DEFAULTS | (LOOPBACK if master.startswith(LOCAL) else {PY_FILES: str(packed())})
    return {name: str(value) for name, value in (ours | dict(options)).items()}


def light(options: Mapping[str, object]) -> dict[str, object]:
    """Add Java options that shorten the start of a driver that runs no tasks: less compilation, one collector."""
    return {**options, JAVA_OPTIONS: f"{LIGHT} {options.get(JAVA_OPTIONS, '')}".strip()}


@contextmanager
def java_environment(**more: str) -> Iterator[None]:
    """Set the environment variables of a Java process that starts within the block."""
    if not has_java():
        raise NoJava(NoJava.__doc__)
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it logs the end of each connection
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


def _is_session_option(name: str) -> bool:
    return name.startswith(("spark.sql.", "spark.python.sql."))


def has_spark() -> bool:
    """Return whether PySpark is installed, without importing it."""
    return find_spec("pyspark") is not None


def has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return bool(home and (Path(home) / "bin" / "java").exists()) or shutil.which("java") is not None


class KeptJava:
    """The Java process of a keeper: a classic Spark context with the plugin that serves Spark Connect."""

    def __init__(self, master: str, options: Mapping[str, object], classes: Path) -> None:
        from pyspark import SparkConf, SparkContext

        self.token = secrets.token_urlsafe(32)
        self.port, self.other = own_port()
        given = settings_of(master, options) | CONNECT_SERVER | {"spark.connect.grpc.binding.port": str(self.port)}
        self.started = ExitStack()
        given = self.started.enter_context(SharedClasses(classes).used(given))
        conf = SparkConf().setMaster(master).setAppName("signalbox server").setAll(list(given.items()))
        # The token is passed in the environment, since every user can read command lines.
        with java_environment(SPARK_CONNECT_AUTHENTICATE_TOKEN=self.token):
            self.context = SparkContext(conf=conf)
        gateway: Any = self.context._gateway
        self.process = gateway.proc

    def lives(self) -> bool:
        return self.process.poll() is None

    def clear(self) -> None:
        """Cancel the queries of killed jobs; the keeper holds the lock, so no other job runs."""
        self.context.cancelAllJobs()

    def stop(self) -> None:
        """Stop the Java process, which may write its classes to a file for some seconds."""
        with self.started:
            class_sharing.end(self.process)


def own_port() -> tuple[int, socket.socket | None]:
    """Find a free port of 127.0.0.1, and occupy the same port of ::1 if this machine has IPv6.

    Clients try ::1 first, and would send their token to another process that listens there.
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
