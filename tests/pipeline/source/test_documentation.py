"""The examples of docs/use/spark.md run as they stand there, by the command that stands there."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import signalbox.spark
from pipeline.spark.class_sharing import JAVA_OPTIONS
from pipeline.spark.sessions import PYTHON_PATH
from signalbox import Client
from tests.dlq.processes import PROJECT
from tests.pipeline.session import SMALL
from tests.pipeline.spark_cluster import JAVA, SPARK_HOME

PAGE = (PROJECT / "docs" / "use" / "spark.md").read_text()
BEGIN = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
"""

SOONER = {"spark.executorEnv.PYTHONPATH": str(PYTHON_PATH)}
"""Python takes PySpark from where it is compiled, as in our own sessions. There is nothing else of ours in it."""

pytestmark = pytest.mark.timeout(600)


def test_the_import_alone_enters_the_format_in_the_active_session(monkeypatch: pytest.MonkeyPatch) -> None:
    active = mock.Mock()
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: active)

    importlib.reload(signalbox.spark)

    active.dataSource.register.assert_called_once_with(signalbox.spark.SignalboxSource)


@pytest.mark.proof
def test_the_examples_are_a_job_that_knows_only_our_zip_file(
    url: str, connect: Callable[..., psycopg.Connection[Any]], tmp_path: Path
) -> None:
    client = Client(connect())
    for queue in ("orders", "billing"):
        client.create_queue(queue)
    client.create_stream("events")
    client.send_batch("orders", [{"customer": "ann"}, {"customer": "ann"}, {"customer": "bob"}])
    client.append_batch("events", [{"n": 1}, {"n": 2}], keys=["k", None])
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 3

    said = submitted(tmp_path, "\n".join([BEGIN, f"url, folder = {url!r}, {str(tmp_path)!r}", *examples]))

    assert sorted(re.findall(r"\b(ann|bob)\|\s*(\d)", said)) == [("ann", "2"), ("bob", "1")]
    assert sorted(pq.read_table(tmp_path / "events")["payload"].to_pylist()) == ['{"n": 1}', '{"n": 2}']
    (message,) = client.receive("billing", 10)
    assert (message.payload, message.group_id) == ({"n": 1}, "k")


def submitted(folder: Path, job: str) -> str:
    """Output of the job, run from a folder that contains only the project's zip file."""
    (commands,) = re.findall(r"^python -m zipfile .*\n.* spark-submit .*\n", PAGE, re.MULTILINE)
    pack, submit = commands.splitlines()
    (folder / "signalbox").symlink_to(PROJECT / "signalbox")
    given = SMALL | {"spark.master": "local[1]", "spark.ui.enabled": "false", JAVA_OPTIONS: JAVA} | SOONER
    (folder / "job.conf").write_text("".join(f"{name} {value}\n" for name, value in given.items()))
    (folder / "job.py").write_text(job)
    variables = {"PATH": f"{SPARK_HOME / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"} | {
        name: value for name, value in os.environ.items() if name == "JAVA_HOME"
    }

    run = lambda command: subprocess.run(  # noqa: E731
        command, shell=True, cwd=folder, env=variables, capture_output=True, text=True, timeout=480
    )
    assert run(pack).returncode == 0
    (folder / "signalbox").unlink()
    done = run(submit.replace("spark-submit", "spark-submit --properties-file=job.conf"))
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout
