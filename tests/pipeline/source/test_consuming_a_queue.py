"""A streaming query over a queue: batches under leases, acknowledged once committed, whatever dies in between."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows
from pyspark.sql.types import StructType

from signalbox.errors import InvalidArgument, QueueNotFound
from signalbox.spark import SignalboxSource
from signalbox.spark.following_queue import QueueFollower
from tests.engine import Engine
from tests.pipeline.source.dying import DyingSource

pytestmark = pytest.mark.timeout(600)

LIMIT = ReadMaxRows(2)


def consumer(url: str, queue: str, **options: Any) -> QueueFollower:
    """A reader as Spark makes it at the start of a query, and again at each restart."""
    made = SignalboxSource({"url": url, "queue": queue, **{name: str(value) for name, value in options.items()}})
    reader = made.streamReader(made.schema())
    assert isinstance(reader, QueueFollower)
    return reader


def rows_of(reader: QueueFollower, start: dict[str, Any], end: dict[str, Any]) -> list[str]:
    batches = [batch for part in reader.partitions(start, end) for batch in reader.read(part)]
    return sorted(row["payload"] for batch in batches for row in batch.to_pylist())


def leases_end(engine: Engine) -> None:
    engine.connection.execute(
        "update signalbox.lease set deadline = deadline - interval '1 day' where queue_id = %s", [engine.queue_id]
    )
    engine.value("select signalbox.return_and_promote(array[%s])", engine.queue_id)


def held(engine: Engine) -> tuple[int, int]:
    """Messages under leases, and messages that were acknowledged."""
    return (
        engine.value("select count(*) from signalbox.lease where queue_id = %s", engine.queue_id),
        engine.value(
            "select coalesce(sum(cardinality(message_ids)), 0)::integer from signalbox.settled where queue_id = %s",
            engine.queue_id,
        ),
    )


def test_a_batch_is_the_same_until_spark_begins_from_its_end(url: str, engine: Engine) -> None:
    for n in range(3):
        engine.send(n)
    reader = consumer(url, engine.queue, partitions=2)
    begin = reader.initialOffset()
    first = reader.latestOffset(begin, LIMIT)
    assert rows_of(reader, begin, first) == ["0", "1"]
    restarted = consumer(url, engine.queue)
    assert rows_of(restarted, begin, first) == ["0", "1"]
    assert held(engine) == (2, 0)

    second = restarted.latestOffset(first, LIMIT)  # the first is committed
    assert held(engine) == (1, 2)
    assert rows_of(restarted, first, second) == ["2"]
    assert consumer(url, engine.queue).latestOffset(second, LIMIT) == second
    assert held(engine) == (0, 3)
    assert restarted.partitions(second, second) == []


def test_a_message_whose_lease_ended_comes_again_from_the_queue(
    url: str, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.send("slow")
    reader = consumer(url, engine.queue)
    begin = reader.initialOffset()
    first = reader.latestOffset(begin, LIMIT)
    leases_end(engine)
    other = engine.receive_one()
    reader = consumer(url, engine.queue)
    assert rows_of(reader, begin, first) == []
    assert "1 of 1 messages are missing from a repeated batch" in caplog.text
    engine.value("select signalbox.change_visibility(%s, 0)", other[1])
    second = reader.latestOffset(first, LIMIT)
    assert "1 messages of queue" in caplog.text
    assert rows_of(reader, first, second) == ['"slow"']


def test_a_run_over_what_is_available_ends(url: str, engine: Engine) -> None:
    for n in range(3):
        engine.send(n)
    reader = consumer(url, engine.queue)
    reader.prepareForTriggerAvailableNow()
    engine.send("later")
    place, counts = reader.initialOffset(), []
    while (end := reader.latestOffset(place, LIMIT)) != place:
        counts.append(len(end["handles"]))
        place = end
    assert counts == [2, 1]


def test_mistakes_are_named(url: str, engine: Engine) -> None:
    with pytest.raises(QueueNotFound):
        consumer(url, "there-is-none").initialOffset()
    with pytest.raises(InvalidArgument, match="begin a new checkpoint"):
        consumer(url, engine.queue).latestOffset({"queue_id": 0, "handles": []}, LIMIT)
    for name, value in {"max_messages_per_batch": "0", "lease_seconds": "50000", "from": "latest"}.items():
        with pytest.raises(InvalidArgument) as refused:
            consumer(url, engine.queue, **{name: value})
        assert refused.value.field == name


STEPS = ("received", "planned", "read", "settling", "settled")


class DyingConsumer(SignalboxSource):
    """The source, whose process dies by kill -9 at one step, once: a file says that it did."""

    @classmethod
    def name(cls) -> str:
        return "dying-consumer"

    def streamReader(self, schema: StructType) -> Any:  # noqa: N802 - Spark's name
        step, flag = self.options.pop("die"), Path(self.options.pop("flag"))
        return _Dying(super().streamReader(schema), step, flag)


class _Dying(QueueFollower):
    def __init__(self, reader: Any, step: str, flag: Path) -> None:
        self.__dict__.update(reader.__dict__)
        self.step, self.flag = step, flag

    def _reach(self, step: str) -> None:
        if step == self.step and not self.flag.exists():
            self.flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def _receive(self, most: int) -> list[str]:
        handles = super()._receive(most)
        if handles:
            self._reach("received")
        return handles

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Any:
        made = super().partitions(start, end)
        self._reach("planned")
        return made

    def read(self, partition: Any) -> Iterator[Any]:
        for batch in super().read(partition):
            self._reach("read")
            yield batch

    def _acknowledge(self, offset: dict[str, Any]) -> None:
        if offset["handles"]:
            self._reach("settling")
        super()._acknowledge(offset)
        if offset["handles"]:
            self._reach("settled")


@pytest.mark.proof
def test_a_query_that_is_killed_at_each_step_loses_nothing(
    source: Any, url: str, make_engine: Callable[..., Engine], tmp_path: Path
) -> None:
    """Each step has queues and a checkpoint of its own; one is between the work of a batch and its commit.

    The sink skips a batch that it has, so one with other messages would be lost.
    """
    source.dataSource.register(DyingConsumer)
    source.dataSource.register(DyingSource)
    for step in (*STEPS, "worked"):
        engine, target, flag = make_engine(), make_engine(), tmp_path / step
        for n in range(3):
            engine.send(n)

        def run(engine: Engine = engine, target: Engine = target, step: str = step, flag: Path = flag) -> None:
            begin(source, url, engine.queue, target.queue, step, flag).awaitTermination()

        with suppress(Exception):  # Spark's own kinds of errors
            run()
        assert flag.exists(), step
        run()
        if step == "received":  # under a lease that no offset names
            leases_end(engine)
            run()
        assert sorted(one[3] for one in target.receive(10)) == [0, 1, 2], step
        assert held(engine) == (0, 3), step


def begin(source: Any, url: str, queue: str, target: str, step: str, flag: Path) -> Any:
    """Start a query from a queue to another one, which dies at its step unless it has."""
    dies = step == "worked" and not flag.exists()
    read = source.readStream.format("dying-consumer").options(
        url=url, queue=queue, columns="payload", max_messages_per_batch=2, die=step, flag=str(flag)
    )
    write = read.load().writeStream.format("dying" if dies else "signalbox").options(url=url, queue=target)
    if dies:
        write = write.options(die="after commit", flag=str(flag))
    return write.option("checkpointLocation", f"{flag}-checkpoint").trigger(availableNow=True).start()
