"""Equal work in Spark's tasks, in one module with one session, since a session needs a Java of its own."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyspark
import pytest
from django.core.management import call_command

from pipeline.archive import extracting, querying, spark_tables
from pipeline.archive.extracting import Job, Written
from pipeline.archive.parts import Part
from pipeline.archive.schemas import KINDS, Kind
from pipeline.models import Rollup, Run, Sent
from pipeline.rollups import aggregation, rolling
from pipeline.spark import tasks as pipeline_spark
from tests.engine import Engine
from tests.pipeline.conftest import Archive, in_this_process, settle
from tests.pipeline.object_store import bucket_url

__all__ = ["bucket_url"]


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


@pytest.mark.timeout(600)
def test_tasks_begin_from_the_installed_pyspark_which_is_compiled_and_without_pandas_or_numpy(spark: Any) -> None:
    def found(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import sys

        import pyspark

        for _ in batches:
            pa.array(["what Arrow would ask pandas about"])
            loaded = {"numpy", "pandas"} & set(sys.modules)
            looked = [path for path in sys.path if path.endswith(".jar")]
            yield pa.RecordBatch.from_pylist(
                [{"file": pyspark.__file__, "loaded": sorted(loaded), "jars": len(looked)}]
            )

    (row,) = spark.range(1).mapInArrow(found, "file string, loaded array<string>, jars long").collect()
    assert (row.file, row.loaded, row.jars) == (pyspark.__file__, [], 0)


NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.timeout(600)
def test_hours_and_days_are_counted_for_queue_tenant_and_all(spark: Any) -> None:
    def settled(minutes: int, **given: Any) -> dict[str, Any]:
        at = NOON + timedelta(minutes=minutes)
        usual = {"queue_id": 7, "tenant_id": 1, "outcome": "acked", "receive_count": 1, "work_ms": 1000}
        return usual | {"settled_at": at, "sent_at": at - timedelta(seconds=3)} | given

    rows = [settled(minute) for minute in range(90)]
    rows += [settled(0, queue_id=8, work_ms=9000, sent_at=NOON - timedelta(seconds=9)), settled(1, outcome="purged")]
    failed = [{"queue_id": 7, "tenant_id": 1, "failed_at": NOON, "died": died} for died in (False, False, True)]
    died = [{"queue_id": 7, "tenant_id": 1, "died_at": NOON, "receive_count": 3}]

    found = spark_tables.rows_of(
        aggregation.rollups(
            table(spark, "settled", rows), table(spark, "failures", failed), table(spark, "dead_letters", died)
        )
    )

    by_place = {(row["scope"], row["seconds"], row["bucket_at"]): row for row in found}
    hour, day = by_place[7, 3600, NOON], by_place[7, 86_400, NOON.replace(hour=0)]
    everything = by_place[0, 3600, NOON]
    assert set(by_place) == {
        (scope, seconds, at)
        for scope in (7, 8, -1, 0)
        for seconds, at in ((3600, NOON), (3600, NOON + timedelta(hours=1)), (86_400, NOON.replace(hour=0)))
        if (scope, at) != (8, NOON + timedelta(hours=1))
    }
    assert (hour["acked"], hour["purged"], hour["retried"], hour["dead_lettered"], hour["delivered"]) == (
        60,
        1,
        2,
        1,
        64,
    )
    assert (day["acked"], by_place[-1, 86_400, NOON.replace(hour=0)]["acked"]) == (90, 91)
    assert (hour["wait_p50_ms"], hour["work_p99_ms"], hour["works"]) == (2000, 1000, 60)
    assert (everything["work_p50_ms"], everything["work_p99_ms"]) == (1000, 9000)


@pytest.mark.timeout(600)
def test_a_wait_is_of_what_was_never_dead_and_is_known(spark: Any) -> None:
    """Days in a dead-letter queue are no wait, and without a body the send time is unknown."""
    usual = {"queue_id": 7, "tenant_id": 1, "outcome": "acked", "receive_count": 1, "work_ms": 0, "settled_at": NOON}
    waits = [
        {"sent_at": NOON - timedelta(seconds=2)},
        {"sent_at": NOON - timedelta(days=9), "redriven": True},
        {"sent_at": None},
    ]
    nothing = [table(spark, kind, []) for kind in ("failures", "dead_letters")]

    found = spark_tables.rows_of(
        aggregation.rollups(table(spark, "settled", [usual | wait for wait in waits]), *nothing)
    )

    hour = next(row for row in found if (row["scope"], row["seconds"]) == (7, 3600))
    assert (hour["acked"], hour["waits"], hour["wait_p50_ms"], hour["wait_p99_ms"]) == (3, 1, 2000, 2000)


@pytest.mark.timeout(600)
def test_letters_whose_death_is_in_no_history_are_taken_by_tasks_too(
    spark: Any, archive: Archive, engine: Engine
) -> None:
    letter = engine.die({"old": 1})
    engine.value("delete from signalbox.failure where queue_id = %s returning 1", engine.queue_id)
    engine.value("update signalbox.archive_horizon set below = 0 returning 1")

    archive.run(lambda job, parts: pipeline_spark.write_parts(spark, job, parts))

    assert [row["dead_letter_id"] for row in archive.read("dead_letters", engine)] == [letter]


@pytest.mark.timeout(600)
def test_a_folder_is_read_whatever_its_name_is(spark: Any, archive: Archive, engine: Engine, tmp_path: Path) -> None:
    """Hadoop takes some of these for patterns."""
    ids = settle(engine, 3)
    archive.url = str(tmp_path / "a [b] {c,d} *e? \\f %20 ü")
    archive.run()

    paths = [path for path in archive.named() if path.startswith("settled/")]
    found = spark_tables.table(spark, archive.url, "settled", paths, ["message_id"])

    assert sorted(row.message_id for row in found.collect()) == ids


@pytest.mark.timeout(600)
def test_quantiles_are_as_near_as_is_said(spark: Any) -> None:
    times = [n * 37 % 50_000 for n in range(50_000)]
    rows = [
        {"queue_id": n % 5, "tenant_id": 1, "outcome": "acked", "receive_count": 2, "work_ms": work, "settled_at": NOON}
        for n, work in enumerate(times)
    ]

    found = spark_tables.rows_of(
        aggregation.rollups(
            table(spark, "settled", rows), table(spark, "failures", []), table(spark, "dead_letters", [])
        )
    )

    (merged,) = [row for row in found if (row["scope"], row["seconds"]) == (0, 86_400)]
    for share in aggregation.QUANTILES:
        rank = merged[f"work_p{round(share * 100)}_ms"] / 50_000
        assert abs(rank - share) <= 3 * aggregation.RANK_ERROR  # what is said holds in 99 of 100 cases
    assert (merged["waits"], merged["wait_p50_ms"]) == (0, None)


@pytest.mark.timeout(600)
def test_a_rollup_takes_in_what_was_archived_once(spark: Any, archive: Archive, engine: Engine) -> None:
    settle(engine, 12)
    archive.run()

    first = rolling.roll_up(lambda: spark, actor="tests")
    settle(engine, 3)
    archive.run()
    rolling.roll_up(lambda: spark, actor="tests")
    before = list(Rollup.objects.values())
    Run.objects.update(taken_in_by=None)  # as if it had been killed before the end
    rolling.roll_up(lambda: spark, actor="tests")

    assert first.archive_runs == 1
    assert sorted(map(str, Rollup.objects.values())) == sorted(map(str, before))
    hours = Rollup.objects.filter(scope=engine.queue_id, seconds=3600)
    assert sum(row.acked for row in hours) == 15
    assert sum(row.messages for row in Sent.objects.filter(scope=engine.queue_id)) == 15
    assert rolling.roll_up(lambda: spark, actor="tests") == rolling.RolledUp(0, 0, 0)


@pytest.mark.timeout(600)
def test_both_ways_of_reading_answer_the_same_and_a_column_of_later_is_null(
    spark: Any, archive: Archive, engine: Engine
) -> None:
    settle(engine, 6)
    archive.run(part_rows=4)
    columns = ("queue_id", "message_id", "settled_at", "added_later")
    later = KINDS["settled"].schema.append(pa.field("added_later", pa.string()))
    with mock.patch.dict(KINDS, {"settled": replace(KINDS["settled"], schema=later)}):
        paths = [path for path in archive.named() if path.startswith("settled/")]
        by_spark = spark_tables.table(spark, archive.url, "settled", paths, columns)
        by_tasks = spark_tables.by_tasks(spark, archive.url, pa.schema([later.field(name) for name in columns]), paths)

    rows = sorted(map(tuple, by_spark.collect()))
    assert rows == sorted(map(tuple, by_tasks.collect()))
    assert {row[3] for row in rows} == {None}


@pytest.mark.timeout(600)
def test_an_archive_in_a_bucket_is_written_and_rolled_up_by_tasks(
    spark: Any, archive: Archive, engine: Engine, bucket_url: str
) -> None:
    settle(engine, 6)
    stored = replace(archive, url=bucket_url.replace("FOLDER", uuid.uuid4().hex))

    stored.run(lambda job, parts: pipeline_spark.write_parts(spark, job, parts), part_rows=4)
    done = rolling.roll_up(lambda: spark, actor="tests")

    assert (stored.files(), done.archive_runs) == (stored.named(), 1)
    hours = Rollup.objects.filter(scope=engine.queue_id, seconds=3600)
    assert sum(row.acked for row in hours) == 6


@pytest.mark.timeout(600)
def test_a_column_that_came_later_is_null_in_old_files_and_has_its_value_in_new_ones(
    spark: Any, archive: Archive, engine: Engine
) -> None:
    """Rollups run over both: here over a day that has files of either sort."""
    settle(engine, 4)
    archive.run()
    later = KINDS["settled"].schema.append(pa.field("added_later", pa.string()))
    with mock.patch.dict(KINDS, {"settled": replace(KINDS["settled"], schema=later)}):
        settle(engine, 3)
        archive.run(with_a_column_more)
        paths = [path for path in archive.named() if path.startswith("settled/")]
        columns = ("queue_id", "added_later")
        read = [
            spark_tables.table(spark, archive.url, "settled", paths, columns),
            spark_tables.by_tasks(spark, archive.url, pa.schema([later.field(name) for name in columns]), paths),
        ]
        found = [
            sorted(str(row.added_later) for row in table.collect() if row.queue_id == engine.queue_id) for table in read
        ]
        rolling.roll_up(lambda: spark, actor="tests")

    assert found == [["None"] * 4 + ["later"] * 3] * 2
    hours = Rollup.objects.filter(scope=engine.queue_id, seconds=3600)
    assert sum(row.acked for row in hours) == 7


def with_a_column_more(job: Job, parts: Sequence[Part]) -> list[Written]:
    """Answer as a later version of the statement would."""
    read = querying.batches

    def batches(dsn: str, kind: Kind, part: Part) -> Iterator[pa.RecordBatch]:
        for batch in read(dsn, kind, part):
            place = batch.schema.get_field_index("added_later")
            later = pa.array(["later"] * batch.num_rows)
            yield batch if place < 0 else batch.set_column(place, "added_later", later)

    with mock.patch.object(extracting, "batches", batches):
        return in_this_process(job, parts)


def table(spark: Any, kind: str, rows: list[dict[str, Any]]) -> Any:
    schema = pa.schema([KINDS[kind].schema.field(name) for name in rolling.COLUMNS[kind]])
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))


def command(*arguments: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("pipeline", *arguments, stdout=out)
    return json.loads(out.getvalue())  # type: ignore[no-any-return]
