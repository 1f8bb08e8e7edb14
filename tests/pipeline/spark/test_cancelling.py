"""A cancel reaches what Spark has under way; the next run does what this one would have done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from django.db import connection

from pipeline.errors import Cancelled
from pipeline.jobs import starting
from pipeline.models import Run
from pipeline.rollups import rolling
from tests.engine import Engine
from tests.pipeline.conftest import Archive, settle
from tests.races.sessions import finish, start, until


@pytest.mark.timeout(600)
@pytest.mark.proof
def test_a_cancel_interrupts_what_spark_has_under_way(
    spark: Any, archive: Archive, engine: Engine, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"

    def never_ends(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begun.touch()
        while True:
            time.sleep(0.1)
        yield from batches

    def cancelled() -> None:
        until(begun.exists, "the task")
        (run,) = Run.objects.filter(kind=Run.Kind.ROLLUP)
        assert starting.cancel(run.pk, actor="ann")
        connection.close()

    def of_days(*given: Any) -> Any:
        return spark.range(1).mapInArrow(never_ends, "id long").count()

    settle(engine, 3)
    archive.run()
    asked = start(cancelled)
    with (
        mock.patch.object(rolling, "_of_days", of_days),
        pytest.raises(Cancelled),
    ):
        rolling.roll_up(lambda: spark, actor="tests")

    finish(asked)
    run = Run.objects.get(kind=Run.Kind.ROLLUP)
    assert (run.state, run.error) == (Run.State.CANCELLED, str(Cancelled()))
    assert rolling.roll_up(lambda: spark, actor="tests").archive_runs == 1
