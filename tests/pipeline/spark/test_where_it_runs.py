"""Equal data gives equal results in every Spark: archive, buckets, findings, replay; see test_spark_server."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from pipeline.spark.class_sharing import JAVA_OPTIONS
from tests.dlq.processes import PROJECT, environment
from tests.pipeline import spark_cluster
from tests.pipeline.conftest import Archive
from tests.pipeline.spark.conforming_data import Expected, assert_conforms, run
from tests.pipeline.spark.conforming_data import expected as expected
from tests.pipeline.spark_cluster import INTERPRETED, JAVA, ON_LOOPBACK, OPTIONS

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with spark_cluster.running(tmp_path_factory.mktemp("cluster")) as address:
        yield address


@pytest.mark.proof
def test_a_session_of_this_process_gives_the_same(
    spark: Any, archive: Archive, expected: Expected, tmp_path: Path
) -> None:
    url = str(tmp_path / "elsewhere")

    call_command("pipeline", "archive", f"--to={url}", stdout=io.StringIO())
    for job in (["rollup"], ["analyse"], ["replay", f"--target={expected.queue}", "--", expected.chosen]):
        call_command("pipeline", *job, stdout=io.StringIO())

    assert_conforms(expected, url)


def test_other_processes_do_not_inherit_the_option_to_run_without_numpy(spark: Any) -> None:
    look = "import importlib.util; print(importlib.util.find_spec('numpy').name)"

    assert subprocess.check_output([sys.executable, "-c", look], text=True) == "numpy\n"


@pytest.mark.proof
def test_a_cluster_gives_the_same(archive: Archive, expected: Expected, cluster: str, dsn: str, tmp_path: Path) -> None:
    url = str(tmp_path / "elsewhere")
    options = {
        "SPARK_MASTER": cluster,
        "SPARK_OPTIONS": json.dumps(OPTIONS | ON_LOOPBACK | INTERPRETED),
        "SIGNALBOX_HOME": str(tmp_path),
    }

    command = [sys.executable, "-m", "tests.pipeline.spark.conforming", url, expected.queue, expected.chosen]
    run(command, environment(dsn) | options)

    assert_conforms(expected, url)


@pytest.mark.proof
def test_spark_submit_runs_the_command_on_a_cluster_that_knows_only_our_zip_file(
    archive: Archive, expected: Expected, cluster: str, dsn: str, tmp_path: Path
) -> None:
    url = str(tmp_path / "elsewhere")
    zipped = tmp_path / "pipeline.zip"
    call_command("pipeline", "pack", str(zipped), stdout=io.StringIO())
    submit = [str(spark_cluster.SPARK_HOME / "bin" / "spark-submit"), "--master", cluster, "--py-files", str(zipped)]
    sooner = {JAVA_OPTIONS: JAVA, "spark.cores.max": "1"}  # one executor, and a Java that knows much
    for name, value in (OPTIONS | ON_LOOPBACK | INTERPRETED | sooner).items():
        submit += ["--conf", f"{name}={value}"]

    run(
        [*submit, str(PROJECT / "manage.py"), "pipeline", "archive", "--json", f"--to={url}"],
        environment(dsn)
        | {"SIGNALBOX_HOME": str(tmp_path), "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable},
    )

    assert_conforms(expected, url, archive_alone=True)
