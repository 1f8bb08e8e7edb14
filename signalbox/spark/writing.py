"""Writes: tasks stage their rows in the database, and one transaction at the end sends the rows of the good tasks.

Rows are staged a thousand at a time, which limits the memory of a task.

A task that runs twice stages twice; only the stage that Spark names is sent. Spark makes another writer with the same
options for the end, in another process, so this module keeps no state between the two. `abort` may follow a successful
commit, so `abort` removes only rows that are still staged.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from signalbox.arguments import MAX_PRIORITY
from signalbox.calls.call import statement
from signalbox.errors import InvalidArgument, SignalboxError, translated
from signalbox.spark.columns import APPENDED, SENT
from signalbox.spark.options import Options, Target

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

log = logging.getLogger(__name__)

CHUNK_ROWS = 1000
CHUNK_BYTES = 4 * 1024 * 1024

STAGE = statement(
    "stage_messages",
    "stage uuid, place int, queue text, stream text, payloads jsonb[], attributes jsonb[], priorities int[],"
    " delay_seconds double precision[], keys text[], deduplication_ids text[], trace_ids text[]",
)
OPTIONS = dict.fromkeys(["attributes", "priorities", "delay_seconds", "keys", "deduplication_ids", "trace_ids"])
SEND = "select signalbox.send_staged(%s::text, %s::text, %s::uuid[], %s::bigint, %s::text, %s::bigint)"
DROP = "select signalbox.drop_staged(%s::uuid[])"
QUERY, BATCH = "sql.streaming.queryId", "streaming.sql.batchId"
"""The properties of a task that name its query (by the id that the checkpoint keeps) and its batch."""


class NoQuery(SignalboxError):  # noqa: N818 - it names what is missing
    """Spark did not name the query and batch of a task: a repeated write could not be recognised."""


@dataclass
class Staged(WriterCommitMessage):
    """The staged rows of one task."""

    stage: uuid.UUID
    messages: int
    writer: str | None = None
    batch: int = 0


class BatchWriter(DataSourceArrowWriter):
    """The write of a table, whole or not at all; with the option `write_id` only once, however often it runs."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self.target = options.target()
        self.write_id = options.text("write_id")
        options.finish()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        """Stage one task's rows."""
        return staged(self.target, iterator, self.write_id, 0)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Send the staged rows of the tasks."""
        send(self.target, _of_tasks(messages), self.write_id, 0)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Remove the rows that are still staged."""
        drop(self.target, _of_tasks(messages))


class StreamWriter(DataSourceStreamArrowWriter):
    """The writes of a streaming query: each batch is sent once, by the ledger in the database."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self.target = options.target()
        options.finish()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        """Stage one task's rows of a batch."""
        writer, batch = _query_and_batch()
        return staged(self.target, iterator, writer, batch)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Send the staged rows of the tasks, unless this batch was sent before Spark could record that."""
        tasks = _of_tasks(messages)
        if not tasks:
            return
        if {task.batch for task in tasks} != {batchId} or len({task.writer for task in tasks}) != 1:
            raise NoQuery
        send(self.target, tasks, tasks[0].writer, batchId)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Remove the rows that are still staged."""
        drop(self.target, _of_tasks(messages))


class Stage:
    """The rows that one attempt of a task stages, under an id of its own."""

    def __init__(self, connection: psycopg.Connection[Any], target: Target) -> None:
        self.id = uuid.uuid4()
        self.messages = self.places = 0
        self._connection = connection
        self._target = target
        self._columns = SENT if target.queue is not None else APPENDED

    def add(self, batch: pa.RecordBatch) -> None:
        """Stage these rows in their order."""
        columns = {self._columns[name]: _values(name, batch.column(name)) for name in batch.schema.names}
        for low, high in chunks(columns["payloads"]):
            rows = {name: values[low:high] for name, values in columns.items()}
            self._connection.execute(
                STAGE,
                {
                    **OPTIONS,
                    **rows,
                    "stage": self.id,
                    "place": self.places,
                    "queue": self._target.queue,
                    "stream": self._target.stream,
                },
            )
            self.places += 1
            self.messages += high - low


def chunks(payloads: Sequence[str]) -> list[tuple[int, int]]:
    """Divide rows into chunks, limited by rows and by bytes; returns the first index of each chunk and its end."""
    cuts, size = [0], 0
    for index, payload in enumerate(payloads):
        if index - cuts[-1] >= CHUNK_ROWS or (size + len(payload) > CHUNK_BYTES and index > cuts[-1]):
            cuts.append(index)
            size = 0
        size += len(payload)
    return [cut for cut in zip(cuts, [*cuts[1:], len(payloads)], strict=True) if cut[0] < cut[1]]


def _values(name: str, column: pa.Array) -> list[Any]:
    import pyarrow as pa

    if name == "payload" and column.null_count:
        raise InvalidArgument("payload is null in a row: a message needs a JSON value", field="payload")
    if name == "priority":
        try:
            column = column.cast(pa.int32())
        except pa.ArrowInvalid as error:
            text = f"priority must be from 0 to {MAX_PRIORITY} in every row"
            raise InvalidArgument(text, field="priority") from error
    if name == "delay_seconds":
        column = column.cast(pa.float64())
    values: list[Any] = column.to_pylist()
    if name not in ("priority", "delay_seconds") and any(value is not None and "\x00" in value for value in values):
        raise InvalidArgument(f"{name} has the character NUL in a row, which PostgreSQL cannot store", field=name)
    return values


def staged(target: Target, batches: Iterator[pa.RecordBatch], writer: str | None, batch: int) -> Staged:
    """Stage rows; after a failure none of them stays."""
    with connect(target) as connection, translated():
        stage = Stage(connection, target)
        try:
            for rows in batches:
                stage.add(rows)
        except BaseException:
            connection.execute(DROP, [[stage.id]])
            raise
        return Staged(stage.id, stage.messages, writer, batch)


def send(target: Target, tasks: Sequence[Staged], writer: str | None, batch: int) -> None:
    """Send all staged rows and write the ledger, in one transaction."""
    with connect(target) as connection, translated():
        parameters = [target.queue, target.stream, [task.stage for task in tasks], sum(task.messages for task in tasks)]
        row = connection.execute(SEND, [*parameters, writer, batch]).fetchone()
    if row is not None and row[0] is None:
        log.warning("batch %s of %s was written to %s before: nothing was sent again", batch, writer, target)


def drop(target: Target, tasks: Sequence[Staged]) -> None:
    """Remove stages; sent rows are no longer staged."""
    with connect(target) as connection, translated():
        connection.execute(DROP, [[task.stage for task in tasks]])


def connect(target: Target) -> psycopg.Connection[Any]:
    """Connect for one task, or for the end; each statement is a transaction."""
    return psycopg.connect(target.dsn("signalbox spark"), autocommit=True)


def _query_and_batch() -> tuple[str, int]:
    from pyspark import TaskContext

    context = TaskContext.get()
    query, batch = (context.getLocalProperty(name) if context else None for name in (QUERY, BATCH))
    if not query or batch is None:
        raise NoQuery
    return f"spark {query}", int(batch)


def _of_tasks(messages: Sequence[WriterCommitMessage | None]) -> list[Staged]:
    return [message for message in messages if isinstance(message, Staged)]
