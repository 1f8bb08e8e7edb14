"""The data source that Spark finds by the name of its format; it makes readers and writers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader

from signalbox.errors import InvalidArgument
from signalbox.spark.columns import APPENDED, QUEUE, SENT, STREAM, check_written, schema_of
from signalbox.spark.following_queue import QueueFollower
from signalbox.spark.options import Options
from signalbox.spark.reading_queue import QueueReader
from signalbox.spark.reading_stream import StreamFollower, StreamReader
from signalbox.spark.writing import BatchWriter, StreamWriter

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class SignalboxSource(DataSource):
    """A queue or a stream as a data source. Options: docs/use/spark.md."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "signalbox"

    def schema(self) -> StructType:
        """The columns of a read: all, or those of the option `columns`."""
        options = Options(self.options)
        columns = QUEUE if options.target().queue is not None else STREAM
        return schema_of(columns, options.words("columns", tuple(columns)))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Make the reader of the present messages."""
        options = Options(self.options)
        self._check_schema(schema)
        if options.target().queue is not None:
            return QueueReader(options, schema)
        return StreamReader(options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Make the reader that follows a stream, or that consumes a queue."""
        options = Options(self.options)
        self._check_schema(schema)
        return (StreamFollower if options.target().queue is None else QueueFollower)(options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        """Make the writer that sends a table as a whole, or not at all."""
        return BatchWriter(self._to_write(schema, overwrite), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802 - Spark's name
        """Make the writer that sends each batch of a query once."""
        return StreamWriter(self._to_write(schema, overwrite), schema)

    def _to_write(self, schema: StructType, overwrite: bool) -> Options:
        options = Options(self.options)
        if overwrite:
            raise InvalidArgument(
                "a write cannot replace the messages of a queue or a stream: use mode('append')", field="mode"
            )
        if options.target().queue is not None:
            check_written(schema, SENT, "queue")
        else:
            check_written(schema, APPENDED, "stream")
        return options

    def _check_schema(self, schema: StructType) -> None:
        if schema != self.schema():
            raise InvalidArgument(
                "schema(...) must be left out: the format has its own columns; select some with option('columns', ...)",
                field="schema",
            )
