"""A read of the messages in a queue. The read leases and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from signalbox.errors import QueueNotFound
from signalbox.spark.options import Options
from signalbox.spark.reading import Extraction, Question, selected, value

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

STATES = ("ready", "scheduled", "waiting", "leased")
MAX_PARTITIONS = 64

FIND = f"""
select q.queue_id, coalesce(pg_sequence_last_value('signalbox.message_id'), 0) as last_id,
  coalesce((select min(m.message_id) from signalbox.message m where m.queue_id = q.queue_id), 0) as first_id
from signalbox.queue q
where q.name = {value("queue", "text")}
"""  # noqa: S608 - put together from literals of this package


@dataclass(frozen=True)
class Ids(InputPartition):
    """The messages of a range of ids. A message has one id wherever it moves, so no two tasks see the same one."""

    queue_id: int
    low: int
    high: int
    """The end of the range; the range does not include this id."""


class QueueReader(DataSourceReader):
    """The reader of a queue: each task reads one range of ids in one statement, as of the start of the statement."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self.target = options.target()
        options.text("columns")
        self.schema = schema
        self.states = options.words("state", STATES)
        self.group_id = options.text("group_id")
        self.sent_from = options.moment("sent_from")
        self.sent_until = options.moment("sent_until")
        self.max_messages = options.number("max_messages", 0, 1, 2**31 - 1)
        self.parts = 1 if self.max_messages else options.number("partitions", 1, 1, MAX_PARTITIONS)
        options.number("partitions", 1, 1, MAX_PARTITIONS)
        options.finish()

    def partitions(self) -> list[InputPartition]:
        """Divide the ids from the oldest message to the last id given out so far: later messages are not read."""
        with closing(Question(self.target)) as question:
            rows = question.rows(FIND, {"queue": self.target.queue})
        if not rows:
            raise QueueNotFound(f"{self.target} does not exist")
        queue_id, last, first = rows[0]
        edges = [first + (last + 1 - first) * part // self.parts for part in range(1, self.parts)]
        lows, highs = [0, *edges], [*edges, last + 1]  # the first range also has messages that are older than the log
        return [Ids(queue_id, low, high) for low, high in zip(lows, highs, strict=True)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the messages of one task."""
        from pyspark.sql.pandas.types import to_arrow_schema

        assert isinstance(partition, Ids)  # noqa: S101 - Spark gives back what it was given
        values = {
            "queue_id": partition.queue_id,
            "low": partition.low,
            "high": partition.high,
            "states": ",".join(self.states),
            "group_id": self.group_id,
            "sent_from": self.sent_from,
            "sent_until": self.sent_until,
            "max_messages": self.max_messages or None,
        }
        with closing(Extraction(self.target)) as extraction:
            yield from extraction.batches(self._statement(), values, to_arrow_schema(self.schema, timezone="UTC"))

    def _statement(self) -> str:
        clauses = [f"select {selected(self.schema.fieldNames())} from signalbox.live_message m"]  # noqa: S608 - names of ours
        clauses += [f"where m.queue_id = {value('queue_id', 'integer')}"]
        clauses += [f"and m.message_id >= {value('low')} and m.message_id < {value('high')}"]
        if self.states != STATES:
            clauses += [f"and m.state = any(string_to_array({value('states', 'text')}, ','))"]
        if self.group_id is not None:
            clauses += [f"and m.group_id = {value('group_id', 'text')}"]
        if self.sent_from is not None:
            clauses += [f"and m.sent_at >= {value('sent_from', 'timestamptz')}"]
        if self.sent_until is not None:
            clauses += [f"and m.sent_at < {value('sent_until', 'timestamptz')}"]
        if self.max_messages:
            clauses += [f"limit {value('max_messages')}"]
        return "\n".join(clauses)
