"""Select archived messages by a filter with Spark: count them, and write them to the staging tables by tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa
from django.conf import settings
from django.db.models import QuerySet

from pipeline.archive.schemas import BODY_COLUMNS, KINDS
from pipeline.archive.spark_tables import of_files, union
from pipeline.jobs.runs import interrupted_when_cancelled
from pipeline.models import ArchiveFile, Run
from pipeline.replay import choosing, staging_part
from pipeline.replay.replaying import Counted, Selection
from pipeline.replay.staging_part import CHOSEN, WRITTEN, StagingTarget

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COMMON_COLUMNS = ("message_id", "queue", "tenant", "receive_count", *BODY_COLUMNS)
COLUMNS = {
    "settled": (*COMMON_COLUMNS, "settled_at", "outcome"),
    "dead_letters": (*COMMON_COLUMNS, "died_at", "reason", "error_class", "fingerprint"),
}


class SparkChoice:
    """The selected rows, each message once."""

    def __init__(self, spark: SparkSession, files: QuerySet[ArchiveFile], selection: Selection) -> None:
        self.spark, self.rows = spark, _each_once(_of_all_kinds(spark, files, selection))

    def counted(self) -> Counted:
        from pyspark.sql import functions as f

        size = f.octet_length("payload") + f.coalesce(f.octet_length("attributes"), f.lit(0))
        counted = self.rows.agg(f.count("payload"), f.sum(size), f.count_if(f.isnull("payload")))
        with interrupted_when_cancelled(Run.Kind.REPLAY, self.spark):
            numbers = counted.toArrow()
        return Counted(*(column[0].as_py() or 0 for column in numbers.columns))

    def write(self, target: StagingTarget) -> int:
        """Write each part in a task of its own, `PIPELINE_CONNECTIONS` parts in all."""

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            task = TaskContext.get()
            part = task.partitionId() if task else 0
            written = staging_part.write_part(target, part, batches)
            yield pa.RecordBatch.from_pylist([{"part": part, "rows": written}], schema=WRITTEN)

        written = self.rows.where("payload is not null").mapInArrow(work, "part int, rows long")
        with interrupted_when_cancelled(Run.Kind.REPLAY, self.spark):
            rows = written.toArrow().column("rows").to_pylist()
        return sum(rows)


def by_spark(session: Callable[[], SparkSession]) -> Callable[[QuerySet[ArchiveFile], Selection], SparkChoice]:
    """Make a `Choose` of `pipeline.replay.replaying` that starts Spark only when there are files to read."""
    return lambda files, selection: SparkChoice(session(), files, selection)


def _of_all_kinds(spark: SparkSession, files: QuerySet[ArchiveFile], selection: Selection) -> DataFrame:
    """Select rows of all kinds, with the columns of the staging table."""
    tables = []
    for kind in selection.kinds:
        if of_kind := list(files.filter(kind=kind)):
            columns = sorted({*COLUMNS[kind], *choosing.columns(selection.filter, kind)})
            rows = _matching(of_files(spark, kind, of_kind, columns), kind, selection)
            if kind == "dead_letters":
                rows = _never_acknowledged(spark, rows, min(file.first_at for file in of_kind))
            tables.append(_as_staged(rows, kind))
    return union(tables)


def _matching(rows: DataFrame, kind: str, selection: Selection) -> DataFrame:
    from pyspark.sql import functions as f

    ended_at = f.col(KINDS[kind].at)
    if selection.since:
        rows = rows.where(ended_at >= selection.since)
    if selection.until:
        rows = rows.where(ended_at < selection.until)
    return rows.where(choosing.condition(selection.filter, kind, selection.as_of))


def _never_acknowledged(spark: SparkSession, deaths: DataFrame, first_at: datetime) -> DataFrame:
    """Leave out dead letters that were acknowledged after a redrive, even when filter and time exclude that success."""
    from pyspark.sql import functions as f

    later = ArchiveFile.objects.filter(kind="settled", last_at__gte=first_at).select_related("run").order_by("pk")
    settled = of_files(spark, "settled", later, ["message_id", "outcome", "settled_at"])
    ended = settled.where("outcome = 'acked'").select(f.col("message_id").alias("ended_id"), "settled_at")
    since = (f.col("message_id") == f.col("ended_id")) & (f.col("settled_at") >= f.col("died_at"))
    return deaths.join(ended, since, "left_anti")


def _as_staged(rows: DataFrame, kind: str) -> DataFrame:
    from pyspark.sql import functions as f

    priority = f.coalesce("priority", f.lit(0).cast("short"))
    own = {"kind": f.lit(kind), "ended_at": f.col(KINDS[kind].at), "priority": priority}
    if kind == "settled":
        own |= {"fingerprint": f.lit(None).cast("string")}
    else:
        own |= {"outcome": f.coalesce("error_class", "reason")}
    return rows.select(*[own[name].alias(name) if name in own else f.col(name) for name in CHOSEN.names])


def _each_once(rows: DataFrame) -> DataFrame:
    """Keep the last end of each message. A message that died, was redriven and acknowledged is in the archive twice.

    There are as many partitions as tasks that may write at a time. A partition that is computed again has the same rows
    in the same order.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    newest_first = Window.partitionBy("message_id").orderBy(f.desc("ended_at"), "kind")
    parts = rows.repartition(settings.PIPELINE_CONNECTIONS, "message_id")
    return parts.withColumn("nth", f.row_number().over(newest_first)).where("nth = 1").drop("nth")
