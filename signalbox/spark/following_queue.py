"""A query over a queue: each batch receives messages under leases, and acknowledges them once it is committed.

An offset of Spark is the list of the receipt handles of one batch. A repeated batch therefore reads the same messages,
and a sink that skips batches that it has already written loses no message. Spark asks for the next offset with the last
committed offset as the start, also after a restart: the messages of that start are acknowledged then. The call `commit`
of Spark comes later, and never for the last batch of a run, so it is not used. A repeated batch does not read messages
whose lease has ended: the queue delivers them again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from signalbox.errors import InvalidArgument, QueueNotFound, translated
from signalbox.spark.options import Options
from signalbox.spark.reading import BY_KEY, Extraction, selected

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

log = logging.getLogger(__name__)

MAX_BATCH = 10_000
MAX_LEASE_SECONDS = 43_200

QUEUE = """
select q.queue_id, (select d.ready + d.waiting from signalbox.queue_totals(array[q.queue_id]) t
  cross join lateral signalbox._depths_of(t.totals) d)
from signalbox.queue q
where q.name = %s::text
"""
RECEIVE = "select r.receipt_handle from signalbox.receive(%s::text, %s::int, %s::double precision, %s::text) r"
RENEW = (
    "select count(*) from signalbox.change_visibility_batch(%s::text[], %s::double precision) where deadline is null"
)
ACK = "select count(*) from signalbox.ack(%s::text[]) where not acked"
GIVEN = """
from (
  select split_part(h, '.', 2)::bigint as message_id, split_part(h, '.', 3)::uuid as nonce
  from unnest(string_to_array(current_setting('signalbox.handles'), ',')) h
) g
join signalbox.lease l on l.message_id = g.message_id and l.nonce = g.nonce
join signalbox.live_message m on m.message_id = g.message_id and m.state = 'leased'
"""


@dataclass(frozen=True)
class Held(InputPartition):
    """The receipt handles of one task."""

    handles: tuple[str, ...]


class QueueFollower(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The consumer of a queue: one receive for each batch, and an acknowledgement after its commit."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self.target = options.target()
        options.text("columns")
        self.schema = schema
        self.max_messages = options.number("max_messages_per_batch", 1000, 1, MAX_BATCH)
        self.lease_seconds = options.number("lease_seconds", 600, 1, MAX_LEASE_SECONDS)
        self.consumer = options.text("consumer") or "spark"
        self.parts = options.number("partitions", 1, 1, 64)
        self.left: int | None = None
        """Messages that this run may still receive; None without a bound."""
        self._received: dict[str, Any] | None = None
        self._settled: dict[str, Any] | None = None
        self._connection: psycopg.Connection[Any] | None = None
        options.finish()

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """The offset of a query without a checkpoint: nothing is received."""
        return {"queue_id": self._queue()[0], "handles": []}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The limit on the messages of a batch."""
        return ReadMaxRows(self.max_messages)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Limit this run to the number of messages in the queue now: a busy queue may never become empty."""
        self.left = self._queue()[1]

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Acknowledge the batch that ended at `start`, which Spark has committed, and receive the next one."""
        self._acknowledge(start)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self.max_messages
        handles = self._receive(most if self.left is None else min(most, self.left))
        if not handles:
            return start
        if self.left is not None:
            self.left -= len(handles)
        self._received = {"queue_id": start["queue_id"], "handles": handles}
        return self._received

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Divide the messages of a batch among tasks. A batch that is repeated after a restart renews its leases."""
        self._check(end)
        handles = end["handles"] if end != start else []
        if not handles:
            return []
        if end != self._received and (lost := self._value(RENEW, handles, self.lease_seconds)):
            log.warning("%s of %s messages are missing from a repeated batch of %s", lost, len(handles), self.target)
        return [Held(tuple(handles[part :: self.parts])) for part in range(min(self.parts, len(handles)))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the messages of one task whose leases are still held."""
        from pyspark.sql.pandas.types import to_arrow_schema

        if not isinstance(partition, Held):
            return  # Spark makes one task where there is nothing to read
        statement = f"select {selected(self.schema.fieldNames())} {GIVEN}"
        values, schema = {"handles": ",".join(partition.handles)}, to_arrow_schema(self.schema, timezone="UTC")
        with closing(Extraction(self.target)) as extraction:
            yield from extraction.batches(statement, values, schema)

    def stop(self) -> None:
        """Close the connection. Messages of a batch that Spark has not committed stay leased for a restart."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _acknowledge(self, offset: dict[str, Any]) -> None:
        if offset == self._settled:
            return  # on a quiet queue Spark asks a hundred times a second
        self._check(offset)
        if offset["handles"] and (lost := self._value(ACK, offset["handles"])):
            log.warning("%s messages of %s were acknowledged before, or their lease ended", lost, self.target)
        self._settled = offset

    def _receive(self, most: int) -> list[str]:
        if most <= 0:
            return []
        rows = self._rows(RECEIVE, self.target.queue, most, self.lease_seconds, self.consumer)
        return [row[0] for row in rows]

    def _check(self, offset: dict[str, Any]) -> None:
        """Refuse an offset of another queue."""
        if offset["queue_id"] != self._queue()[0]:
            raise InvalidArgument(
                f"{self.target} is not the queue of this query's checkpoint: begin a new checkpoint", field="queue"
            )

    def _queue(self) -> tuple[int, int]:
        """Read the id of the queue, and how many messages could be received."""
        rows = self._rows(QUEUE, self.target.queue)
        if not rows:
            raise QueueNotFound(f"{self.target} does not exist")
        return rows[0][0], rows[0][1]

    def _value(self, statement: str, *parameters: object) -> int:
        value: int = self._rows(statement, *parameters)[0][0]
        return value

    def _rows(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Run a statement over one connection; a lost one is replaced at the next call."""
        if self._connection is None or self._connection.broken:
            self._connection = psycopg.connect(self.target.dsn("signalbox spark", **BY_KEY), autocommit=True)
        with translated():
            return self._connection.execute(statement.encode(), parameters).fetchall()
