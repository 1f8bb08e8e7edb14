"""Access to a stream: each task reads a range of positions of one partition, with the same result each time.

No read goes beyond the horizon, before which every position is final. So a range always has the same messages, until
retention drops them; then the reader raises an error or logs a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from signalbox.errors import InvalidArgument, SignalboxError
from signalbox.spark import archived
from signalbox.spark.options import Options, Places, Target
from signalbox.spark.reading import Extraction, Question, selected, value

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

log = logging.getLogger(__name__)

SLICE_POSITIONS = 50_000
"""The most positions of one statement: a longer snapshot would keep vacuum from removing dead rows."""
TASK_POSITIONS = 1_000_000

BOUNDS = f"""
select stream_id, partition, first_position, last_position, drawn_position
from signalbox.stream_bounds({value("stream", "text")})
"""  # noqa: S608 - literals of this package


WITH_BODIES = """(
  select m.*, b.sha256 as body_sha256, b.bytes as body_bytes
  from signalbox.stream_message m
  left join signalbox.stream_body_pointer b on b.stream_id = m.stream_id and b.partition = m.partition
    and b.position = m.position
) m"""
"""Messages with the pointers to their large bodies."""


class MessagesLost(SignalboxError):  # noqa: N818 - it names what happened
    """Retention has dropped messages of the stream before they were read."""


@dataclass(frozen=True)
class Range(InputPartition):
    """Positions of one partition, from `low` (inclusive) to `high` (inclusive)."""

    stream_id: int
    partition: int
    low: int
    high: int


@dataclass(frozen=True)
class Bounds:
    """The positions of a partition that can be read now."""

    first: int
    last: int
    drawn: int
    """The last position that was given out: a checkpoint cannot be beyond it."""


@dataclass(frozen=True)
class Log:
    """The partitions of a stream at one moment."""

    stream_id: int
    bounds: dict[int, Bounds]

    @classmethod
    def of(cls, target: Target, connection: Question | Extraction | None = None) -> Log:
        """Read the bounds of each partition now."""
        if connection is None:
            with closing(Question(target)) as own:
                return cls.of(target, own)
        rows = connection.rows(BOUNDS, {"stream": target.stream})
        return cls(rows[0][0], {partition: Bounds(*bounds) for _, partition, *bounds in rows})

    def check(self, name: str, places: Places) -> None:
        """Refuse partitions that the stream does not have."""
        for partition in places if isinstance(places, dict) else ():
            if partition not in self.bounds:
                raise InvalidArgument(f"{name} names partition {partition}: there are {len(self.bounds)}", field=name)

    def firsts(self, places: Places) -> dict[int, int]:
        """The first position to read of each partition; unnamed partitions are read from the earliest."""
        if places == "latest":
            return {partition: bounds.last + 1 for partition, bounds in self.bounds.items()}
        named = places if isinstance(places, dict) else {}  # the first position that there ever was is 1
        return {partition: max(1, named.get(partition, bounds.first)) for partition, bounds in self.bounds.items()}

    def lasts(self, places: Places) -> dict[int, int]:
        """The last position to read of each partition, at most the horizon."""
        named = places if isinstance(places, dict) else {}
        return {
            partition: min(named.get(partition, bounds.last), bounds.last) for partition, bounds in self.bounds.items()
        }

    def ranges(self, firsts: dict[int, int], lasts: dict[int, int]) -> list[InputPartition]:
        """Divide the read among tasks."""
        return [
            Range(self.stream_id, partition, low, min(low + TASK_POSITIONS - 1, lasts[partition]))
            for partition, first in sorted(firsts.items())
            for low in range(first, lasts[partition] + 1, TASK_POSITIONS)
        ]


class Reading:
    """The base of the readers of a stream: a read of positions, and the report of lost ones."""

    target: Target
    fails_on_loss: bool
    names: list[str]
    schema: StructType

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the messages of one task."""
        from pyspark.sql.pandas.types import to_arrow_schema

        schema = to_arrow_schema(self.schema, timezone="UTC")
        if isinstance(partition, archived.ArchivedFile):
            yield from archived.batches(partition, self.names, schema)
        if not isinstance(partition, Range):
            return  # Spark makes one task where there is nothing to read
        with closing(Extraction(self.target)) as extraction:
            for low in range(partition.low, partition.high + 1, SLICE_POSITIONS):
                high = min(low + SLICE_POSITIONS - 1, partition.high)
                values = {"stream_id": partition.stream_id, "partition": partition.partition, "low": low, "high": high}
                yield from extraction.batches(self._statement(), values, schema)
                # A segment is dropped after the first position has moved: if that is unmoved, no position was missing.
                now = Log.of(self.target, extraction)
                self.check_loss({partition.partition: low}, {partition.partition: high}, now)

    def check_loss(self, firsts: dict[int, int], lasts: dict[int, int], now: Log) -> None:
        """Report the positions of these ranges that retention has dropped."""
        for partition, first in firsts.items():
            lost = min(now.bounds[partition].first, lasts[partition] + 1) - first
            if lost <= 0:
                continue
            loss = f"retention has dropped {lost} positions of partition {partition} of {self.target}, unread"
            if self.fails_on_loss:
                raise MessagesLost(f"{loss}, from {first} on. To continue without them, set option('on_loss', 'skip')")
            log.warning("%s, from %s on", loss, first)

    def _statement(self) -> str:
        source = WITH_BODIES if any(name.startswith("body_") for name in self.names) else "signalbox.stream_message m"
        return (
            f"select {selected(self.names)} from {source}"  # noqa: S608
            f" where m.stream_id = {value('stream_id', 'integer')} and m.partition = {value('partition', 'smallint')}"
            f" and m.position >= {value('low')} and m.position <= {value('high')}"
        )

    def _take(self, options: Options, schema: StructType) -> None:
        self.target = options.target()
        options.text("columns")
        self.schema, self.names = schema, schema.fieldNames()
        self.fails_on_loss = "fail" in options.words("on_loss", ("fail", "skip"))


class StreamReader(Reading, DataSourceReader):
    """The reader of a stream from one point to another; with the option `archive` also of archived messages."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._take(options, schema)
        self.begin = options.places("from", "earliest")
        self.end = options.places("to", "latest")
        self.with_archive = options.flag("archive")
        options.finish()

    def partitions(self) -> list[InputPartition]:
        """Divide the present positions among tasks: later messages are not read."""
        with closing(Question(self.target)) as connection:
            now = Log.of(self.target, connection)
            now.check("from", self.begin)
            now.check("to", self.end)
            firsts, lasts = now.firsts(self.begin), now.lasts(self.end)
            files: list[InputPartition] = []
            if self.with_archive:
                files, firsts = self._archived(connection, now, lasts)
        self.check_loss(firsts, lasts, now)
        return [*files, *now.ranges(firsts, lasts)]

    def _archived(
        self, connection: Question, now: Log, lasts: dict[int, int]
    ) -> tuple[list[InputPartition], dict[int, int]]:
        """Make the tasks that read files, and find the positions behind what the archive has."""
        ends = archived.archived_positions(connection, now.stream_id)
        whole = {one: replace(bounds, first=1) if ends[one] else bounds for one, bounds in now.bounds.items()}
        firsts = Log(now.stream_id, whole).firsts(self.begin)
        ranges = [(one, first, min(ends[one], lasts[one])) for one, first in firsts.items()]
        files = archived.files_of(connection, now.stream_id, [one for one in ranges if one[1] <= one[2]])
        return files, {one: max(first, ends[one] + 1) for one, first in firsts.items()}


class StreamFollower(Reading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The reader of a growing stream. Spark's offsets are each partition's next position, and the stream's id."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._connection: Question | None = None
        self._take(options, schema)
        self.begin = options.places("from", "earliest")
        self.max_messages = options.number("max_messages_per_batch", 0, 1, 2**31 - 1)
        self.final: dict[str, Any] | None = None
        options.finish()

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """The first offset of a query without a checkpoint."""
        now = self._now()
        now.check("from", self.begin)
        return _offset(now.stream_id, now.firsts(self.begin))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The limit on positions in a batch, if the options have one."""
        return ReadMaxRows(self.max_messages) if self.max_messages else ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """The end of a batch: the horizon, or as far as the limit allows, for all partitions alike."""
        end = self.final or self._horizon(start)
        ends = _places(end)
        nexts = _with_new(_places(start), ends)
        wanted = {partition: max(ends[partition] - next_, 0) for partition, next_ in nexts.items()}
        if isinstance(limit, ReadMaxRows):
            wanted = shared(wanted, limit.max_rows)
        return _offset(end["stream_id"], {partition: nexts[partition] + wanted[partition] for partition in nexts})

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Fix the end of this run; a later run reads later messages."""
        self.final = self._horizon()

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """The end of the stream, for the progress of the query."""
        return self._horizon()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of a batch; a repeated batch has the same tasks."""
        now = self._now()
        self._check_start(start, now)
        ends = _places(end)
        firsts = _with_new(_places(start), ends)
        lasts = {partition: next_ - 1 for partition, next_ in ends.items()}
        self.check_loss(firsts, lasts, now)
        return now.ranges(firsts, lasts)

    def stop(self) -> None:
        """Close the connection of the reader."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _horizon(self, start: dict[str, Any] | None = None) -> dict[str, Any]:
        now = self._now()
        if start is not None:
            self._check_start(start, now)
        return _offset(now.stream_id, now.firsts("latest"))

    def _now(self) -> Log:
        """Read the bounds over one connection: on a quiet stream Spark asks a hundred times a second."""
        if self._connection is not None:
            try:
                return Log.of(self.target, self._connection)
            except self._connection.errors:  # lost: a new connection shows whether the database is reachable
                self.stop()
        self._connection = Question(self.target)
        return Log.of(self.target, self._connection)

    def _check_start(self, start: dict[str, Any], now: Log) -> None:
        """Refuse an offset beyond the end of this stream: messages appended before it would be skipped."""
        if start["stream_id"] != now.stream_id:
            raise InvalidArgument(
                f"{self.target} is not the stream of this query's checkpoint: begin a new checkpoint",
                field="stream",
            )
        for partition, next_ in _places(start).items():
            if next_ - 1 > now.bounds[partition].drawn:
                drawn = now.bounds[partition].drawn
                raise InvalidArgument(
                    f"partition {partition} of {self.target} ends at position {drawn}, but this query's checkpoint is"
                    f" at {next_ - 1}: the database was restored. Begin a new checkpoint",
                    field="stream",
                )


def shared(wanted: dict[int, int], limit: int) -> dict[int, int]:
    """Divide a number of positions among partitions: an equal share, or fewer where fewer are left."""
    shares: dict[int, int] = {}
    left = limit
    for number, partition in enumerate(sorted(wanted, key=lambda partition: (wanted[partition], partition))):
        shares[partition] = min(wanted[partition], left // (len(wanted) - number))
        left -= shares[partition]
    return shares


def _offset(stream_id: int, nexts: dict[int, int]) -> dict[str, Any]:
    return {"stream_id": stream_id, "next": {str(partition): nexts[partition] for partition in sorted(nexts)}}


def _places(offset: dict[str, Any]) -> dict[int, int]:
    return {int(partition): position for partition, position in offset["next"].items()}


def _with_new(places: dict[int, int], ends: dict[int, int]) -> dict[int, int]:
    """The next positions of a checkpoint; partitions that the stream got since are read from their first message."""
    return {**dict.fromkeys(ends, 1), **places}
