"""Aggregate archived rows to hours and days: of each queue, of each tenant, and of all queues.

Quantiles come from KLL sketches of an hour of a queue, which are merged for days, tenants and all queues. In 99 of 100
cases the rank of a quantile is wrong by less than `RANK_ERROR`: a p95 lies between p93.7 and p96.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SKETCH_K = 200
RANK_ERROR = 0.0133
"""Error of the rank with sketches of this size, as the library computes it."""

HOUR, DAY = 3_600, 86_400
QUANTILES = (0.5, 0.95, 0.99)
COUNTS = ("acked", "purged", "expired", "delivered", "retried", "dead_lettered")


def rollups(settled: DataFrame, failures: DataFrame, dead_letters: DataFrame) -> DataFrame:
    """Compute the rows of `pipeline.models.Rollup`: one for each scope, length and start of a bucket."""
    from pyspark.sql import functions as f

    failed = _counted(failures.where("not died"), "failed_at", retried=f.lit(1))
    # A dead letter counts all its deliveries, because a redriven message starts again at zero.
    died = _counted(dead_letters, "died_at", dead_lettered=f.lit(1), delivered=f.coalesce("receive_count", f.lit(0)))
    endings = _of_settled(settled).unionByName(failed).unionByName(died)
    hours = endings.groupBy("queue_id", "tenant_id", f.date_trunc("hour", "at").alias("hour_at")).agg(
        *[f.sum(name).alias(name) for name in COUNTS],
        *[f.count(f"{what}_ms").alias(f"{what}s") for what in ("wait", "work")],
        *[f.kll_sketch_agg_bigint(f"{what}_ms", SKETCH_K).alias(f"{what}_sketch") for what in ("wait", "work")],
    )
    placed = hours.withColumn("place", f.explode(_places())).select("place.*", "*").where("scope is not null")
    return (
        placed.groupBy("scope", "seconds", "bucket_at")
        .agg(
            *[f.sum(name).cast("long").alias(name) for name in (*COUNTS, "waits", "works")],
            *[f.kll_merge_agg_bigint(f"{what}_sketch").alias(f"{what}_sketch") for what in ("wait", "work")],
        )
        .select("scope", "seconds", "bucket_at", *COUNTS, *_quantiles("wait"), *_quantiles("work"))
    )


def sent(settled: DataFrame) -> DataFrame:
    """Count the messages that were sent in each hour, by scope; each message is settled once."""
    from pyspark.sql import functions as f

    hours = (
        settled.where("sent_at is not null")
        .groupBy("queue_id", "tenant_id", f.date_trunc("hour", "sent_at").alias("bucket_at"))
        .count()
    )
    scopes = f.explode(f.array("queue_id", -f.col("tenant_id"), f.lit(0))).alias("scope")
    placed = hours.select(scopes, "bucket_at", "count").where("scope is not null")
    return placed.groupBy("scope", "bucket_at").agg(f.sum("count").alias("messages"))


def _of_settled(settled: DataFrame) -> DataFrame:
    """Compute the waits from sending to delivery of messages that were acknowledged at their first delivery.

    Requested delays are included. Waits of redriven messages and of messages without a body are unknown.
    """
    from pyspark.sql import functions as f

    took = f.unix_millis("settled_at") - f.unix_millis("sent_at") - f.col("work_ms")
    first = (f.col("outcome") == "acked") & (f.col("receive_count") == 1) & ~f.coalesce("redriven", f.lit(False))
    return _counted(
        settled,
        "settled_at",
        **{name: f.col("outcome") == name for name in ("acked", "purged", "expired")},
        delivered=f.coalesce("receive_count", f.lit(0)),
        wait_ms=f.when(first & took.isNotNull(), f.greatest(f.lit(0), took)),
        work_ms=f.when(f.col("outcome") == "acked", f.col("work_ms")),
    )


def _counted(rows: DataFrame, at: str, **counts: Column) -> DataFrame:
    from pyspark.sql import functions as f

    return rows.select(
        "queue_id",
        "tenant_id",
        f.col(at).alias("at"),
        *[counts.get(name, f.lit(0)).cast("long").alias(name) for name in COUNTS],
        *[counts.get(name, f.lit(None)).cast("long").alias(name) for name in ("wait_ms", "work_ms")],
    )


def _quantiles(what: str) -> list[Column]:
    from pyspark.sql import functions as f

    found = f.kll_sketch_get_quantile_bigint(f"{what}_sketch", f.array(*[f.lit(share) for share in QUANTILES]))
    known = f.when(f.col(f"{what}s") > 0, found)
    return [
        f.col(f"{what}s"),
        *[known[place].alias(f"{what}_p{round(share * 100)}_ms") for place, share in enumerate(QUANTILES)],
    ]


def _places() -> Column:
    """List the buckets that include an hour of a queue: hour and day, of the queue, its tenant and all queues."""
    from pyspark.sql import functions as f

    return f.array(
        *[
            f.struct(
                scope.cast("int").alias("scope"),
                f.lit(seconds).alias("seconds"),
                f.date_trunc(unit, "hour_at").alias("bucket_at"),
            )
            for scope in (f.col("queue_id"), -f.col("tenant_id"), f.lit(0))
            for seconds, unit in ((HOUR, "hour"), (DAY, "day"))
        ]
    )
