"""The same work in Spark's tasks. One module and one session, since a session is a Java of its own."""

from __future__ import annotations

import fcntl
import io
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from pipeline import spark as pipeline_spark
from pipeline.models import Run
from tests.engine import Engine
from tests.pipeline.conftest import Archive, settle

SMALL = {
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
}


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """The one session; of several processes that run these tests each has its turn."""
    turn = Path(tempfile.gettempdir()) / f"signalbox-tests-spark-{os.getuid()}.lock"
    with turn.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pipeline_spark.session("local[1]", SMALL) as session:
            yield session


@pytest.mark.timeout(600)
def test_the_command_archives_on_spark_and_says_what(spark: Any, archive: Archive, engine: Engine) -> None:
    ids = settle(engine, 12)
    archive.until_over()

    printed = command("archive", "--to", archive.url, "--json")

    assert archive.ids("settled", engine) == ids
    assert printed["rows"] == sum(run.rows for run in Run.objects.all())
    assert printed["files"] == len(archive.named())
    assert [run["state"] for run in command("runs", "--json")["runs"]] == ["committed"]
    assert command("archive", "--to", archive.url, "--json")["rows"] == 0
    assert archive.files() == archive.named()


@pytest.mark.timeout(600)
def test_spark_reads_what_was_archived(spark: Any, archive: Archive, engine: Engine) -> None:
    settle(engine, 12)
    archive.run(lambda job, parts: pipeline_spark.write_parts(spark, job, parts), part_rows=4)

    files = [f"{archive.url}/{path}" for path in archive.named()]
    settled = spark.read.parquet(*[path for path in files if "/settled/" in path]).where(
        f"queue_id = {engine.queue_id}"
    )

    assert len(files) > 1
    assert settled.selectExpr("count(*) n", "count(distinct message_id) d", "max(receive_count) r").first() == (
        12,
        12,
        1,
    )


def command(*arguments: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("pipeline", *arguments, stdout=out)
    return json.loads(out.getvalue())  # type: ignore[no-any-return]
