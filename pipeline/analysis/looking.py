"""Count the features of archived messages in Spark's tasks, and find those that failures have more often.

A task reads the features of a few messages at a time, so bodies never pass through Spark itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.analysis import comparing
from pipeline.analysis.comparing import LEAST_LIFT, LEAST_SHARE, LEAST_SUPPORT
from pipeline.analysis.features import ALL, HAS, NOTHING_HIDDEN, READ_CHARACTERS, UNREAD, Feature, Hidden, of_message
from pipeline.archive.files import Store
from pipeline.archive.schemas import KINDS, as_columns, schema_of
from pipeline.archive.spark_tables import each_by_a_task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH_ROWS = 250
"""The number of bodies that a task holds in memory as Python objects."""

FEATURE = ("path", "kind", "value")
FEATURES = pa.list_(pa.struct(schema_of("path text, kind text, value text")))
SAID = schema_of("queue_id int, fingerprint text, message_id bigint, at timestamptz").append(
    pa.field("features", FEATURES)
)
"""The features of each message; `fingerprint` is null for acknowledged messages."""

MESSAGES = ("failures", "failures_unread", "successes", "successes_unread")
FOUND = schema_of(
    "queue_id int, cause text, failures bigint, failures_unread bigint, successes bigint, successes_unread bigint",
    "tests bigint, place int, path text, kind text, value text, failures_with bigint, successes_with bigint",
    "surprise double",
)
"""For each queue and cause, a row in place 0 with its counts, and a row for each finding, the strongest first."""


def said(
    spark: SparkSession,
    url: str,
    kind: str,
    paths: Sequence[str],
    queue_ids: Sequence[int],
    hidden: Mapping[int, Hidden],
) -> DataFrame:
    """Read the features of messages of these queues: dead letters, or acknowledged messages of kind "settled"."""
    from pyspark.sql.pandas.types import from_arrow_schema

    if not paths:
        return spark.createDataFrame([], from_arrow_schema(SAID))
    queues, rules = list(queue_ids), dict(hidden)

    def read(path: str) -> Iterator[pa.RecordBatch]:
        for rows in Store(url).batches(path, columns_of(kind), BATCH_ROWS):
            yield of_batch(rows, kind, queues, rules)

    return each_by_a_task(spark, paths, read, SAID)


def columns_of(kind: str) -> list[str]:
    """List the columns that features are read from."""
    own = "outcome" if kind == "settled" else "fingerprint"
    return ["queue_id", "message_id", KINDS[kind].at, own, "payload", "attributes"]


def of_batch(rows: pa.RecordBatch, kind: str, queue_ids: Sequence[int], hidden: Mapping[int, Hidden]) -> pa.RecordBatch:
    """Read the features of these rows of a file, with the columns of `SAID`."""
    rows = as_columns(rows, pa.schema([KINDS[kind].schema.field(name) for name in columns_of(kind)]))
    compared = pc.is_in(rows.column("queue_id"), pa.array(queue_ids, pa.int32()))
    if kind == "settled":
        compared = pc.and_(compared, pc.equal(rows.column("outcome"), "acked"))
    rows = rows.filter(compared)
    queues = rows.column("queue_id")
    rules = [hidden.get(queue_id, NOTHING_HIDDEN) for queue_id in queues.to_pylist()]
    features = _features(_readable(rows.column("payload")), _readable(rows.column("attributes")), rules)
    cause = rows.column("fingerprint") if kind == "dead_letters" else pa.nulls(rows.num_rows, pa.string())
    return pa.RecordBatch.from_arrays(
        [queues, cause, rows.column("message_id"), rows.column(KINDS[kind].at), features], schema=SAID
    )


def _features(
    payloads: Iterable[str | None], attributes: Iterable[str | None], hidden: Iterable[Hidden]
) -> pa.ListArray:
    ends, found = [0], list[Feature]()
    for payload, extra, rules in zip(payloads, attributes, hidden, strict=True):
        found.extend(of_message(payload, extra, rules))
        ends.append(len(found))
    fields = [pa.array([feature[index] for feature in found], pa.string()) for index in range(len(FEATURE))]
    return pa.ListArray.from_arrays(
        pa.array(ends, pa.int32()), pa.StructArray.from_arrays(fields, [*FEATURE]), type=FEATURES
    )


def _readable(texts: pa.Array) -> list[str | None]:
    """Convert texts to Python; a text above the limit is replaced by a short one that is also above it."""
    long = pc.fill_null(pc.greater(pc.binary_length(texts), READ_CHARACTERS), False)
    cut = pc.if_else(long, " " * (READ_CHARACTERS + 1), texts) if pc.any(long).as_py() else texts
    found: list[str | None] = cut.to_pylist()
    return found


def counts(dead: DataFrame, acked: DataFrame) -> DataFrame:
    """Count the messages of each queue and cause that have a feature: (queue_id, cause, path, kind, value, n).

    The cause is null for messages that succeeded. A message that died of one cause several times counts once, by its
    last death; a message that died does not count as a success. `dead` has the columns queue_id, cause, message_id, at
    and features, `acked` the same without cause.
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
    """Keep the counts that can become a finding, so that a task's memory does not grow with the number of messages.

    `tests` is the number of features that enough messages of the queue have, whether dead or acknowledged.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    whole = Window.partitionBy("queue_id", "cause")
    thing = Window.partitionBy("queue_id", *FEATURE)
    queue = Window.partitionBy("queue_id")
    is_total, is_path = f.col("kind").isin(ALL, UNREAD), f.col("kind") == HAS
    often = (f.col("n") >= LEAST_SUPPORT) & (f.col("n") >= LEAST_SHARE * f.col("whole"))
    usual = is_path & (
        f.col("n") >= (1 - 1 / LEAST_LIFT) * f.col("whole")
    )  # if more successes lack the key, its absence is no finding
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


def standing_out(kept: DataFrame) -> DataFrame:
    """Compare each cause of each queue with the successes; returns the columns of `FOUND`."""
    from pyspark.sql.pandas.types import from_arrow_schema

    def of_queue(rows: pa.Table) -> pa.Table:
        return in_queue(rows)

    return kept.groupBy("queue_id").applyInArrow(of_queue, from_arrow_schema(FOUND))


def in_queue(rows: pa.Table) -> pa.Table:
    """Compare the causes of one queue, given its counts."""
    causes: dict[str | None, dict[Feature, int]] = {None: {}}
    for row in rows.to_pylist():
        causes.setdefault(row["cause"], {})[row["path"], row["kind"], row["value"]] = row["n"]
    successes, tests = causes.pop(None), int(rows.column("tests")[0].as_py())
    queue_id = rows.column("queue_id")[0].as_py()
    answer = []
    for one in comparing.compare({str(cause): said for cause, said in causes.items()}, successes, tests):
        head = {"queue_id": queue_id, "tests": tests} | {name: getattr(one, name) for name in ("cause", *MESSAGES)}
        answer.append(head | {"place": 0})
        for place, standing in enumerate(one.standing, 1):
            numbers = {name: getattr(standing, name) for name in ("failures_with", "successes_with", "surprise")}
            answer.append(head | dict(zip(FEATURE, standing.feature, strict=True)) | numbers | {"place": place})
    return pa.Table.from_pylist(answer, schema=FOUND)
