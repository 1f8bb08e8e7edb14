"""Errors of the archive by their template: what they have in common, in all queues, over all the days of a window.

A template's id is the fingerprint without a stack: failures that differ only in their topmost frame are one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.analysis.normal_errors import READ_CHARACTERS, RULES, normal

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MAX_TEMPLATES = 1_000
MAX_NAMED = 20
"""Queues and fingerprints that are named of a template; all are counted."""

COLUMNS = ("queue_id", "queue", "tenant", "failed_at", "died", "reason", "error_class", "error", "fingerprint")
WHAT = ("template", "reason", "error_class", "error")


def by_day(failures: DataFrame) -> DataFrame:
    """Failed deliveries of each template, queue, fingerprint and day (UTC): what all else is summed up from."""
    from pyspark.sql import functions as f

    known = failures.select(
        *[name for name in COLUMNS if name not in ("error", "error_class")],
        f.to_date("failed_at").alias("day"),
        f.substring("error_class", 1, 200).alias("error_class"),
        _normal("error").alias("error"),
    )
    words = [f.coalesce(f.col(name), f.lit("")) for name in ("reason", "error_class", "error")]
    digest = f.substring(f.sha2(f.concat_ws("\n", *words, f.lit("")), 256), 1, 16)
    return (
        known.withColumn("template", f.concat(f.lit(f"{RULES}:"), digest))
        .groupBy("template", "queue_id", "queue", "tenant", "fingerprint", "day")
        .agg(
            *[f.min(name).alias(name) for name in WHAT[1:]],
            f.count("*").alias("failures"),
            f.sum(f.col("died").cast("long")).alias("deaths"),
            f.min("failed_at").alias("first_seen"),
            f.max("failed_at").alias("last_seen"),
        )
    )


def templates(days: DataFrame) -> DataFrame:
    """The most frequent, one row each, with their days, queues and fingerprints in lists."""
    from pyspark.sql import functions as f

    whole = days.groupBy("template").agg(
        *[f.min(name).alias(name) for name in WHAT[1:]],
        *[f.sum(name).alias(name) for name in ("failures", "deaths")],
        f.min("first_seen").alias("first_seen"),
        f.max("last_seen").alias("last_seen"),
        f.count_distinct("queue_id").alias("queue_count"),
        f.count_distinct("tenant").alias("tenant_count"),
        f.count_distinct("fingerprint").alias("fingerprint_count"),
    )
    top = whole.orderBy(f.desc("failures"), "template").limit(MAX_TEMPLATES)
    of_top = days.join(top.select("template"), "template", "left_semi")
    return (
        top.join(_listed(of_top, "days", "day", limit=None), "template")
        .join(_listed(of_top, "queues", "queue_id", "queue", "tenant"), "template")
        .join(_listed(of_top, "fingerprints", "fingerprint"), "template")
        .orderBy(f.desc("failures"), "template")
    )


def _listed(days: DataFrame, name: str, *keys: str, limit: int | None = MAX_NAMED) -> DataFrame:
    """List the failures of each template by these keys, the most frequent first."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    summed = days.groupBy("template", *keys).agg(f.sum("failures").alias("failures"))
    if limit is not None:
        order = Window.partitionBy("template").orderBy(f.desc("failures"), *keys)
        summed = summed.withColumn("place", f.row_number().over(order)).where(f"place <= {limit}")
    one = f.struct((-f.col("failures")).alias("less"), *keys)
    return summed.groupBy("template").agg(f.array_sort(f.collect_list(one)).alias(name))


def _normal(name: str) -> Column:
    """Normalize errors by Arrow in the workers; no more of an error than is read goes there."""
    from pyspark.sql import functions as f
    from pyspark.sql.pandas import functions as arrow

    by_arrow: Any = arrow.arrow_udf  # pyarrow has no types that its own would know
    column: Column = by_arrow(normal, "string")(f.substring(name, 1, READ_CHARACTERS + 1))  # one more: it was cut
    return column
