"""Choose from the archive by a filter, with Spark: counted, and written into the staging by tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa
from django.conf import settings
from django.db.models import QuerySet

from pipeline.archive.schemas import BODY, KINDS
from pipeline.archive.spark_tables import of_files, together
from pipeline.jobs.runs import heeding
from pipeline.models import ArchiveFile, Run
from pipeline.replay import choosing, staging_part
from pipeline.replay.replaying import Chosen, Counted
from pipeline.replay.staging_part import CHOSEN, WRITTEN, StagingTarget

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WHOSE = ("message_id", "queue", "tenant", "receive_count")
TAKEN = {
    "settled": (*WHOSE, "settled_at", "outcome", *(name for name, _ in BODY)),
    "dead_letters": (*WHOSE, "died_at", "reason", "error_class", "fingerprint", *(name for name, _ in BODY)),
}


class SparkChoice:
    """The rows that are chosen, each message once."""

    def __init__(self, spark: SparkSession, files: QuerySet[ArchiveFile], chosen: Chosen) -> None:
        self.spark, self.rows = spark, _each_once(_together(spark, files, chosen))

    def counted(self) -> Counted:
        from pyspark.sql import functions as f

        size = f.octet_length("payload") + f.coalesce(f.octet_length("attributes"), f.lit(0))
        counted = self.rows.agg(f.count("payload"), f.sum(size), f.count_if(f.isnull("payload")))
        with heeding(Run.Kind.REPLAY, self.spark):
            numbers = counted.toArrow()
        return Counted(*(column[0].as_py() or 0 for column in numbers.columns))

    def write(self, place: StagingTarget) -> int:
        """Each part by a task of its own; as many at a time as may write."""

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            task = TaskContext.get()
            part = task.partitionId() if task else 0
            written = staging_part.write_part(place, part, batches)
            yield pa.RecordBatch.from_pylist([{"part": part, "rows": written}], schema=WRITTEN)

        written = self.rows.where("payload is not null").mapInArrow(work, "part int, rows long")
        with heeding(Run.Kind.REPLAY, self.spark):
            found = written.toArrow()
        return sum(found.column("rows").to_pylist())


def by_spark(session: Callable[[], SparkSession]) -> Callable[[QuerySet[ArchiveFile], Chosen], SparkChoice]:
    """Make the choice of `pipeline.replay.replaying`; the session begins when there is something to choose from."""
    return lambda files, chosen: SparkChoice(session(), files, chosen)


def _together(spark: SparkSession, files: QuerySet[ArchiveFile], chosen: Chosen) -> DataFrame:
    """Rows of all kinds as the staging has them."""
    tables = []
    for kind in chosen.kinds:
        if of_kind := list(files.filter(kind=kind)):
            columns = sorted({*TAKEN[kind], *choosing.columns(chosen.filter, kind)})
            rows = _matching(of_files(spark, kind, of_kind, columns), kind, chosen)
            if kind == "dead_letters":
                rows = _never_acknowledged(spark, rows, min(file.first_at for file in of_kind))
            tables.append(_as_staged(rows, kind))
    return together(tables)


def _matching(rows: DataFrame, kind: str, chosen: Chosen) -> DataFrame:
    from pyspark.sql import functions as f

    at = f.col(KINDS[kind].at)
    if chosen.since:
        rows = rows.where(at >= chosen.since)
    if chosen.until:
        rows = rows.where(at < chosen.until)
    return rows.where(choosing.condition(chosen.filter, kind, chosen.as_of))


def _never_acknowledged(spark: SparkSession, deaths: DataFrame, first_at: datetime) -> DataFrame:
    """Deaths but those after which a redrive let the message succeed, whatever filter and time say of that."""
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
    """Each message as it ended last: one that died, was redriven and acknowledged is in the archive twice.

    In as many parts as may write at a time, and each in an order of its own: computed again, a part is what it was.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    newest_first = Window.partitionBy("message_id").orderBy(f.desc("ended_at"), "kind")
    parts = rows.repartition(settings.PIPELINE_CONNECTIONS, "message_id")
    return parts.withColumn("nth", f.row_number().over(newest_first)).where("nth = 1").drop("nth")
