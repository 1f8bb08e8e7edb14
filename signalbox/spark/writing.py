"""Writing: tasks stage their rows in the database, and one transaction at the end sends what the good ones have staged.

A task that is done twice has staged twice; only the stage that Spark takes is sent. Spark makes another writer of the
same options for the end, in another process, so nothing is kept here between the two. Nor is what it says of a failed
end relied on: `abort` may follow a commit that did happen, so it takes away what is still staged and nothing else.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from signalbox.errors import SignalboxError, translated
from signalbox.spark.options import Options, Target
from signalbox.spark.staging import Stage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

log = logging.getLogger(__name__)

SEND = "select signalbox.send_staged(%s::text, %s::text, %s::uuid[], %s::bigint, %s::text, %s::bigint)"
DROP = "select signalbox.drop_staged(%s::uuid[])"
QUERY, BATCH = "sql.streaming.queryId", "streaming.sql.batchId"
"""What a task knows of the query it works for: Spark's id of it, which its checkpoint keeps, and the batch."""


class NoQuery(SignalboxError):  # noqa: N818 - it names what is missing
    """Spark did not say for which query and batch a task writes: nobody could tell whether it was done before."""


@dataclass
class Staged(WriterCommitMessage):
    """What one task has put aside."""

    stage: uuid.UUID
    messages: int
    writer: str | None = None
    batch: int = 0


class BatchWriter(DataSourceArrowWriter):
    """One write of a table: all of it or nothing; with the option `write_id`, once however often it is run."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self.target = options.target()
        self.write_id = options.text("write_id")
        options.finish()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        """Stage one task's rows."""
        return staged(self.target, iterator, self.write_id, 0)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Send what the tasks have staged."""
        send(self.target, _of_tasks(messages), self.write_id, 0)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Take away what is still staged."""
        drop(self.target, _of_tasks(messages))


class StreamWriter(DataSourceStreamArrowWriter):
    """Batches of a streaming query: each is sent once, as the ledger of the database has it."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self.target = options.target()
        options.finish()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        """Stage one task's rows of a batch."""
        writer, batch = _query_and_batch()
        return staged(self.target, iterator, writer, batch)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Send what the tasks have staged, unless this batch was sent before Spark could note that it was."""
        tasks = _of_tasks(messages)
        if not tasks:
            return
        if {task.batch for task in tasks} != {batchId} or len({task.writer for task in tasks}) != 1:
            raise NoQuery
        send(self.target, tasks, tasks[0].writer, batchId)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Take away what is still staged."""
        drop(self.target, _of_tasks(messages))


def staged(target: Target, batches: Iterator[pa.RecordBatch], writer: str | None, batch: int) -> Staged:
    """Put rows aside; when that fails, none of them stays."""
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
    """One transaction: all that is staged, and the row of the ledger."""
    with connect(target) as connection, translated():
        parameters = [target.queue, target.stream, [task.stage for task in tasks], sum(task.messages for task in tasks)]
        row = connection.execute(SEND, [*parameters, writer, batch]).fetchone()
    if row is not None and row[0] is None:
        log.warning("batch %s of %s was written to %s before: nothing was sent again", batch, writer, target)


def drop(target: Target, tasks: Sequence[Staged]) -> None:
    """Take stages away; what is sent is staged no longer."""
    with connect(target) as connection, translated():
        connection.execute(DROP, [[task.stage for task in tasks]])


def connect(target: Target) -> psycopg.Connection[Any]:
    """A connection of one task, or of the end; each statement is a transaction."""
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
