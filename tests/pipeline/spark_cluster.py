"""Standalone Spark cluster on this machine, from the wheel's scripts: a master and two workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
from django.conf import settings

from pipeline.spark import sessions
from pipeline.spark.class_sharing import JAVA_OPTIONS, QUIET, SharedClasses
from tests.ports import free_port
from tests.races.sessions import until

SPARK_HOME = Path(pyspark.__file__).parent
WORKERS = 2
JAVA = f"{QUIET} -XX:SharedArchiveFile={SharedClasses(settings.SPARK_CLASSES).file} {sessions.LIGHT}"
"""Each begins from what the sessions here have written down, if any has."""
OPTIONS = {
    "spark.driver.memory": "512m",
    JAVA_OPTIONS: sessions.LIGHT,
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": JAVA,
    "spark.sql.shuffle.partitions": "2",
}
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""To make code for so few rows takes longer than to work without. The kept server and the demo do as users have it."""
ON_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """The master's address. Workers know nothing of this project: not its folder, nor any of its variables."""
    port = free_port()
    page = free_port(other_than=port)
    address = f"spark://127.0.0.1:{port}"
    with ExitStack() as processes:
        start = lambda name, *options: processes.enter_context(_process(folder, name, *options))  # noqa: E731
        start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page))
        until(lambda: _alive(page) is not None, "the master")
        for number in range(WORKERS):
            work = ["--work-dir", str(folder / f"work{number}"), "--webui-port", "0"]
            start("worker.Worker", address, "--host", "127.0.0.1", "--cores", "1", "--memory", "512m", *work)
        until(lambda: _alive(page) == WORKERS, "the workers")
        yield address


def _alive(page: int) -> int | None:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=30) as answer:
            return int(json.load(answer)["aliveworkers"])
    except (OSError, urllib.error.URLError, ValueError):
        return None


@contextmanager
def _process(folder: Path, name: str, *options: str) -> Iterator[None]:
    environment = {
        "PATH": os.environ["PATH"],
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": JAVA,
        "SPARK_LAUNCHER_OPTS": sessions.LIGHT,
        "PYSPARK_PYTHON": sys.executable,
    } | {name: value for name, value in os.environ.items() if name == "JAVA_HOME"}
    command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *options]
    with (folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(120)
