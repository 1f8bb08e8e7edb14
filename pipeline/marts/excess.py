"""How often messages of each queue and cause say each thing, and what stands out: `analysis.comparing`, in tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from pipeline.analysis import comparing
from pipeline.analysis.comparing import LEAST_LIFT, LEAST_SHARE, LEAST_SUPPORT
from pipeline.analysis.features import ALL, HAS, UNREAD, Feature

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEATURE = ("path", "kind", "value")
FOUND = pa.schema(
    [
        ("queue_id", pa.int32()),
        ("cause", pa.string()),
        *[(name, pa.int64()) for name in ("failures", "failures_unread", "successes", "successes_unread", "tests")],
        ("place", pa.int32()),
        *[(name, pa.string()) for name in FEATURE],
        ("failures_with", pa.int64()),
        ("successes_with", pa.int64()),
        ("surprise", pa.float64()),
    ]
)
"""A row in place 0 for each queue and cause; those behind it are what stands out, the strongest first."""


def counts(dead: DataFrame, acked: DataFrame) -> DataFrame:
    """How many messages of a queue and cause say each thing: (queue_id, cause, path, kind, value, n); cause is null of
    what succeeded. Of one that died of a cause twice its last death counts; what died is no success later.

    `dead` has queue_id, cause, message_id, at and features, `acked` the same without a cause.
    """
    from pyspark.sql import functions as f

    died = dead.groupBy("queue_id", "cause", "message_id").agg(f.max_by("features", "at").alias("features"))
    lived = acked.join(dead.select("message_id").distinct(), "message_id", "left_anti")
    both = died.select("queue_id", "cause", "features").unionByName(
        lived.select("queue_id", f.lit(None).cast("string").alias("cause"), "features")
    )
    said = both.select("queue_id", "cause", f.explode("features").alias("said")).select("queue_id", "cause", "said.*")
    return said.groupBy("queue_id", "cause", *FEATURE).agg(f.count("*").alias("n"))


def worth_comparing(counted: DataFrame) -> DataFrame:
    """Of these counts what can stand out at all, so that what a task holds of a queue follows from how much its
    messages say, not from how many they are. `tests` counts all that enough messages of the queue say, died or not.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    whole = Window.partitionBy("queue_id", "cause")
    thing = Window.partitionBy("queue_id", *FEATURE)
    queue = Window.partitionBy("queue_id")
    is_total, is_path = f.col("kind").isin(ALL, UNREAD), f.col("kind") == HAS
    often = (f.col("n") >= LEAST_SUPPORT) & (f.col("n") >= LEAST_SHARE * f.col("whole"))
    usual = is_path & (f.col("n") >= (1 - 1 / LEAST_LIFT) * f.col("whole"))  # what more than this lack cannot stand out
    compared = (f.col("said") >= LEAST_SUPPORT) & ~is_total & (f.col("nth") == 1)
    with_sums = (
        counted.withColumn("whole", f.max(f.when(f.col("kind") == ALL, f.col("n"))).over(whole))
        .withColumn("keep", is_total | f.when(f.col("cause").isNull(), usual).otherwise(often))
        .withColumn("said", f.sum("n").over(thing))
        .withColumn("keep", f.max("keep").over(thing))
        .withColumn("nth", f.row_number().over(thing.orderBy("cause")))
        .withColumn("tests", f.sum(f.when(compared, f.when(is_path, 2).otherwise(1)).otherwise(0)).over(queue))
    )
    return with_sums.where("keep").select("queue_id", "cause", *FEATURE, "n", "tests")


def found(kept: DataFrame) -> DataFrame:
    """What stands out in each queue, as `FOUND` has it."""
    from pyspark.sql.pandas.types import from_arrow_schema

    def of_queue(rows: pa.Table) -> pa.Table:
        return in_queue(rows)

    return kept.groupBy("queue_id").applyInArrow(of_queue, from_arrow_schema(FOUND))


def in_queue(rows: pa.Table) -> pa.Table:
    """The same of the counts of one queue."""
    causes: dict[str | None, dict[Feature, int]] = {None: {}}
    for row in rows.to_pylist():
        causes.setdefault(row["cause"], {})[row["path"], row["kind"], row["value"]] = row["n"]
    successes, tests = causes.pop(None), int(rows.column("tests")[0].as_py())
    queue_id = rows.column("queue_id")[0].as_py()
    answer = []
    for one in comparing.compare({str(cause): said for cause, said in causes.items()}, successes, tests):
        head = {
            "queue_id": queue_id,
            "cause": one.cause,
            "failures": one.failures,
            "failures_unread": one.failures_unread,
            "successes": one.successes,
            "successes_unread": one.successes_unread,
            "tests": tests,
        }
        answer.append(head | {"place": 0})
        for place, standing in enumerate(one.standing, 1):
            numbers = {name: getattr(standing, name) for name in ("failures_with", "successes_with", "surprise")}
            answer.append(head | dict(zip(FEATURE, standing.feature, strict=True)) | numbers | {"place": place})
    return pa.Table.from_pylist(answer, schema=FOUND)
