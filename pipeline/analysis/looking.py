"""What archived messages say, read in tasks a few messages at a time: bodies never pass through Spark itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.analysis.features import READ_CHARACTERS, Hidden, hidden_of, of_message
from pipeline.archive.files import Store
from pipeline.archive.kinds import KINDS, as_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH_ROWS = 250
"""At most so many bodies are in a task's memory as Python has them."""

FEATURES = pa.list_(pa.struct([("path", pa.string()), ("kind", pa.string()), ("value", pa.string())]))
SAID = pa.schema(
    [
        ("queue_id", pa.int32()),
        ("fingerprint", pa.string()),
        ("message_id", pa.int64()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("features", FEATURES),
    ]
)
"""`fingerprint` is null of what was acknowledged."""


def said(
    spark: SparkSession,
    url: str,
    kind: str,
    paths: Sequence[str],
    queue_ids: Sequence[int],
    hidden: Mapping[int, Hidden],
) -> DataFrame:
    """What messages of these queues say in files of "dead_letters", or the acknowledged in files of "settled"."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = from_arrow_schema(SAID)
    if not paths:
        return spark.createDataFrame([], schema)
    given, wanted, rules = list(paths), list(queue_ids), dict(hidden)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store = Store(url)
        for batch in batches:
            for place in batch.column(0).to_pylist():
                for rows in store.batches(given[place], columns_of(kind), BATCH_ROWS):
                    yield of_batch(rows, kind, wanted, rules)

    return spark.range(0, len(given), 1, len(given)).mapInArrow(work, schema)


def columns_of(kind: str) -> list[str]:
    own = ["outcome"] if kind == "settled" else ["fingerprint"]
    return ["queue_id", "message_id", KINDS[kind].at, *own, "payload", "attributes"]


def of_batch(rows: pa.RecordBatch, kind: str, queue_ids: Sequence[int], hidden: Mapping[int, Hidden]) -> pa.RecordBatch:
    """What these rows of a file say: a column each of `SAID`."""
    rows = as_columns(rows, pa.schema([KINDS[kind].schema.field(name) for name in columns_of(kind)]))
    wanted = pc.is_in(rows.column("queue_id"), pa.array(queue_ids, pa.int32()))
    if kind == "settled":
        wanted = pc.and_(wanted, pc.equal(rows.column("outcome"), "acked"))
    rows = rows.filter(wanted)
    whose = rows.column("queue_id")
    said_of_each = _features(
        _readable(rows.column("payload")),
        _readable(rows.column("attributes")),
        hidden_of(hidden, whose.to_pylist()),
    )
    cause = rows.column("fingerprint") if kind == "dead_letters" else pa.nulls(rows.num_rows, pa.string())
    return pa.RecordBatch.from_arrays(
        [whose, cause, rows.column("message_id"), rows.column(KINDS[kind].at), said_of_each], schema=SAID
    )


def _features(
    payloads: Iterable[str | None], attributes: Iterable[str | None], hidden: Iterable[Hidden]
) -> pa.ListArray:
    """What each of these messages says."""
    ends, paths, kinds, values = [0], [], [], []
    for payload, extra, rules in zip(payloads, attributes, hidden, strict=True):
        for path, kind, value in of_message(payload, extra, rules):
            paths.append(path)
            kinds.append(kind)
            values.append(value)
        ends.append(len(paths))
    fields = [pa.array(one, pa.string()) for one in (paths, kinds, values)]
    return pa.ListArray.from_arrays(
        pa.array(ends, pa.int32()), pa.StructArray.from_arrays(fields, ["path", "kind", "value"]), type=FEATURES
    )


def _readable(texts: pa.Array) -> list[str | None]:
    """Python gets no text that it would not look at: only that it is too long."""
    long = pc.fill_null(pc.greater(pc.binary_length(texts), READ_CHARACTERS), False)
    cut = pc.if_else(long, " " * (READ_CHARACTERS + 1), texts) if pc.any(long).as_py() else texts
    found: list[str | None] = cut.to_pylist()
    return found
