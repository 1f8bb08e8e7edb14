"""Templates of errors: similar errors of all queues in a window, counted by day, queue and fingerprint.

A template's id is a fingerprint without a stack: failures that differ only in their topmost frame share a template.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.analysis.normal_errors import READ_CHARACTERS, RULES, normal

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MAX_TEMPLATES = 1_000
MAX_NAMED = 20
"""Largest number of queues and of fingerprints that are listed with a template; all are counted."""

COLUMNS = ("queue_id", "queue", "tenant", "failed_at", "died", "reason", "error_class", "error", "fingerprint")
WHAT = ("template", "reason", "error_class", "error")


def by_day(failures: DataFrame) -> DataFrame:
    """Count failed deliveries by template, queue, fingerprint and day (UTC)."""
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
    """Return the most frequent templates, with lists of their days, queues and fingerprints."""
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
    entry = f.struct((-f.col("failures")).alias("less"), *keys)
    return summed.groupBy("template").agg(f.array_sort(f.collect_list(entry)).alias(name))


def _normal(name: str) -> Column:
    """Normalize errors with Arrow in the workers; only the part that is read is sent there."""
    from pyspark.sql import functions as f
    from pyspark.sql.pandas import functions as arrow

    by_arrow: Any = arrow.arrow_udf  # pyarrow has no type annotations
    column: Column = by_arrow(normal, "string")(
        f.substring(name, 1, READ_CHARACTERS + 1)
    )  # one more shows that the error was cut
    return column
