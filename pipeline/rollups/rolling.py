"""Rollup runs: compute the days of new files again, from all files of these days, and replace their rows.

Rows are replaced and not incremented, so that a repeated or killed run counts nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction

from pipeline.archive import spark_tables
from pipeline.jobs import runs
from pipeline.jobs.runs import alone, interrupted_when_cancelled
from pipeline.models import ArchiveFile, Rollup, Run, Sent
from pipeline.rollups import aggregation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAYS_AT_ONCE = 7
"""Days that are computed and written at a time; a kill loses at most these."""
WRITTEN_AT_ONCE = 5_000

WHOSE = ("queue_id", "tenant_id")
COLUMNS = {
    "settled": (*WHOSE, "settled_at", "outcome", "receive_count", "work_ms", "sent_at", "redriven"),
    "failures": (*WHOSE, "failed_at", "died"),
    "dead_letters": (*WHOSE, "died_at", "receive_count"),
}


@dataclass(frozen=True)
class RolledUp:
    """The result of one call."""

    archive_runs: int
    days: int
    buckets: int


def roll_up(session: Callable[[], SparkSession], *, actor: str) -> RolledUp:
    """Compute rollups for all archive runs since the last rollup. Raises `Busy`."""
    with alone("signalbox.rollup"):
        runs.fail_dead(Run.Kind.ROLLUP)
        archived = Run.objects.filter(kind=Run.Kind.ARCHIVE, state=Run.State.COMMITTED, taken_in_by=None)
        if not (fresh := list(archived.order_by("pk"))):
            return RolledUp(0, 0, 0)
        with runs.begun(Run.Kind.ROLLUP, actor, fresh[-1].url) as run:
            spark = session()
            with interrupted_when_cancelled(Run.Kind.ROLLUP, spark):
                return _take_in(spark, run, fresh)


def _take_in(spark: SparkSession, run: Run, fresh: Sequence[Run]) -> RolledUp:
    files = ArchiveFile.objects.filter(run__in=fresh, kind__in=COLUMNS)
    days = list(files.order_by("day").values_list("day", flat=True).distinct())
    buckets = 0
    for first in range(0, len(days), DAYS_AT_ONCE):
        runs.raise_if_cancelled(Run.Kind.ROLLUP)
        group = days[first : first + DAYS_AT_ONCE]
        buckets += _replace(group, _of_days(spark, group))
        runs.note_progress(run)
    sent = {archived.pk: _sent_in(spark, archived) for archived in fresh}
    with transaction.atomic():
        Sent.objects.filter(run__in=fresh).delete()  # a killed run may have written them
        rows = (Sent(run_id=pk, **row) for pk, hours in sent.items() for row in hours)
        Sent.objects.bulk_create(rows, batch_size=WRITTEN_AT_ONCE)
        Run.objects.filter(pk__in=sent).update(taken_in_by=run)
        outcome = {"archive_runs": list(sent), "days": [str(day) for day in days], "buckets": buckets}
        runs.commit(run, sum(archived.rows for archived in fresh), outcome)
    return RolledUp(len(fresh), len(days), buckets)


def _of_days(spark: SparkSession, days: Sequence[date]) -> list[dict[str, Any]]:
    files = ArchiveFile.objects.filter(day__in=days).select_related("run")
    tables = [_table(spark, kind, files.filter(kind=kind)) for kind in COLUMNS]
    return spark_tables.rows_of(aggregation.rollups(*tables))


def _sent_in(spark: SparkSession, run: Run) -> list[dict[str, Any]]:
    settled = run.files.filter(kind="settled").select_related("run")
    return spark_tables.rows_of(aggregation.sent(_table(spark, "settled", settled)))


def _table(spark: SparkSession, kind: str, files: Any) -> DataFrame:
    return spark_tables.of_files(spark, kind, files, COLUMNS[kind])


def _replace(days: Sequence[date], rows: Sequence[dict[str, Any]]) -> int:
    """Replace the rows of these days in one transaction."""
    with transaction.atomic():
        for day in days:
            start = datetime.combine(day, time.min, UTC)
            Rollup.objects.filter(bucket_at__gte=start, bucket_at__lt=start + timedelta(days=1)).delete()
        Rollup.objects.bulk_create([Rollup(**row) for row in rows], batch_size=WRITTEN_AT_ONCE)
    return len(rows)
