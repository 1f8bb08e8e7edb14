"""Rollup runs: the days that new files touched are reckoned anew from all of their files, and replaced as a whole.

Nothing is added to what is there, so that a run done twice, or killed anywhere, changes nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models.functions import Now

from pipeline import tables
from pipeline.alone import alone
from pipeline.archive.kinds import KINDS
from pipeline.errors import Cancelled, PipelineError
from pipeline.marts import rollups
from pipeline.models import ArchiveFile, Rollup, Run, Sent
from pipeline.on_spark.cancelling import heed, heeding
from signalbox.logs import in_brief

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAYS_AT_ONCE = 7
"""What a kill throws away, and what is held in memory while it is written: an hour of a queue is a row."""
WRITTEN_AT_ONCE = 5_000

WHOSE = ("queue_id", "tenant_id")
COLUMNS = {
    "settled": (*WHOSE, "settled_at", "outcome", "receive_count", "work_ms", "sent_at", "redriven"),
    "failures": (*WHOSE, "failed_at", "died"),
    "dead_letters": (*WHOSE, "died_at", "receive_count"),
}


@dataclass(frozen=True)
class RolledUp:
    """What one call did."""

    archive_runs: int
    days: int
    buckets: int


def roll_up(session: Callable[[], SparkSession], *, actor: str) -> RolledUp:
    """Take in all that was archived since the last time. Raises `Busy` while another process does that."""
    with alone("signalbox.rollup"):
        _bury_the_dead()
        fresh = list(
            Run.objects.filter(kind=Run.Kind.ARCHIVE, state=Run.State.COMMITTED, taken_in_by=None).order_by("pk")
        )
        if not fresh:
            return RolledUp(0, 0, 0)
        run = Run.objects.create(kind=Run.Kind.ROLLUP, token="", url=fresh[-1].url, parts=[], started_by=actor)
        try:
            spark = session()
            with heeding(Run.Kind.ROLLUP, spark):
                return _take_in(spark, run, fresh)
        except Exception as error:
            state = Run.State.CANCELLED if isinstance(error, Cancelled) else Run.State.FAILED
            told = str(error) if isinstance(error, PipelineError) else in_brief(error)
            Run.objects.filter(pk=run.pk, state=Run.State.RUNNING).update(state=state, error=told, finished_at=Now())
            raise


def _bury_the_dead() -> None:
    Run.objects.filter(kind=Run.Kind.ROLLUP, state=Run.State.RUNNING).update(
        state=Run.State.FAILED, error="Its process died; nothing of it counts.", finished_at=Now()
    )


def _take_in(spark: SparkSession, run: Run, fresh: Sequence[Run]) -> RolledUp:
    days = list(ArchiveFile.objects.filter(run__in=fresh).order_by("day").values_list("day", flat=True).distinct())
    buckets = 0
    for first in range(0, len(days), DAYS_AT_ONCE):
        heed(Run.Kind.ROLLUP)
        buckets += _replace(days[first : first + DAYS_AT_ONCE], _of_days(spark, days[first : first + DAYS_AT_ONCE]))
    found = {one.pk: _sent_in(spark, one) for one in fresh}
    with transaction.atomic():
        if Run.objects.select_for_update().get(pk=run.pk).cancel_requested:
            raise Cancelled  # from here on it is too late to ask
        Sent.objects.filter(run__in=fresh).delete()  # they may have been taken in before, by a run that was killed
        rows = (Sent(run_id=pk, **row) for pk, noted in found.items() for row in noted)
        Sent.objects.bulk_create(rows, batch_size=WRITTEN_AT_ONCE)
        Run.objects.filter(pk__in=[one.pk for one in fresh]).update(taken_in_by=run)
        outcome = {"archive_runs": [one.pk for one in fresh], "days": [str(day) for day in days], "buckets": buckets}
        done = {"state": Run.State.COMMITTED, "outcome": outcome, "finished_at": Now(), "seen_at": Now()}
        Run.objects.filter(pk=run.pk).update(rows=sum(one.rows for one in fresh), **done)
    return RolledUp(len(fresh), len(days), buckets)


def _of_days(spark: SparkSession, days: Sequence[date]) -> list[dict[str, Any]]:
    files = ArchiveFile.objects.filter(day__in=days).select_related("run")
    return rows_of(rollups.rollups(*[_table(spark, kind, files.filter(kind=kind)) for kind in KINDS]))


def _table(spark: SparkSession, kind: str, files: Any) -> DataFrame:
    return tables.of_files(spark, kind, files, COLUMNS[kind])


def rows_of(table: DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.toArrow().to_pylist()
    return rows


def _replace(days: Sequence[date], rows: Sequence[dict[str, Any]]) -> int:
    """Readers see a day as it was, or as it is now."""
    with transaction.atomic():
        for day in days:
            start = datetime.combine(day, time.min, UTC)
            Rollup.objects.filter(bucket_at__gte=start, bucket_at__lt=start + timedelta(days=1)).delete()
        Rollup.objects.bulk_create([Rollup(**row) for row in rows], batch_size=WRITTEN_AT_ONCE)
    return len(rows)


def _sent_in(spark: SparkSession, run: Run) -> list[dict[str, Any]]:
    settled = run.files.filter(kind="settled").select_related("run")
    return rows_of(rollups.sent(_table(spark, "settled", settled)))
