"""A streaming query over a stream: from its checkpoint on, nothing skipped, nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from signalbox.errors import InvalidArgument
from signalbox.spark import SignalboxSource
from signalbox.spark.reading_stream import MessagesLost, StreamFollower, shared
from tests.streams import Log, make_log

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def log(connect: Callable[..., psycopg.Connection[Any]]) -> Log:
    return make_log(connect(), partitions=2)


def follower(url: str, log: Log, **options: Any) -> StreamFollower:
    given = {name.rstrip("_"): str(value) for name, value in options.items()}
    made = SignalboxSource({"url": url, "stream": log.name, **given})
    reader = made.streamReader(made.schema())
    assert isinstance(reader, StreamFollower)
    return reader


def follow(source: Any, url: str, log: Log, folder: Path, **options: Any) -> list[int]:
    """Put what is there into files, and say how many rows each batch had."""
    query = (
        source.readStream.format("signalbox")
        .options(url=url, stream=log.name, **options)
        .load()
        .writeStream.format("parquet")
        .options(path=str(folder / "files"), checkpointLocation=str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return [progress["numInputRows"] for progress in query.recentProgress]


@pytest.mark.proof
def test_a_query_goes_on_where_its_checkpoint_is(source: Any, url: str, log: Log, tmp_path: Path) -> None:
    for n in range(8):
        log.append(n)
    batches = follow(source, url, log, tmp_path, max_messages_per_batch=3)
    log.append(8)
    follow(source, url, log, tmp_path)

    rows = source.read.parquet(str(tmp_path / "files")).select("payload").collect()
    assert sorted(int(row[0]) for row in rows) == [*range(9)]
    assert [count for count in batches if count] == [3, 3, 2]


def test_partitions_that_are_added_are_read_from_their_first_message(url: str, log: Log) -> None:
    for n in range(4):
        log.append(n)
    reader = follower(url, log)
    start = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    log.value("select signalbox.configure_stream(%s, '{\"partitions\": 3}')", log.name)
    for n in range(3):
        log.append(n)

    end = reader.latestOffset(start, ReadAllAvailable())

    assert (start["next"], end["next"]) == ({"0": 3, "1": 3}, {"0": 4, "1": 4, "2": 2})
    assert len(reader.partitions(start, end)) == 3


def test_offsets_begin_at_the_configured_position(url: str, log: Log) -> None:
    for n in range(6):
        log.append(n)

    def begin(place: str) -> Any:
        return follower(url, log, from_=place).initialOffset()["next"]

    assert begin("earliest") == {"0": 1, "1": 1}
    assert begin("latest") == {"0": 4, "1": 4}
    assert begin('{"1": 3}') == {"0": 1, "1": 3}
    assert begin('{"0": 0, "1": 3}') == {"0": 1, "1": 3}
    with pytest.raises(InvalidArgument, match="names partition 2: there are 2"):
        begin('{"2": 1}')


def test_a_batch_goes_no_further_than_the_horizon_and_its_limit(
    url: str, log: Log, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    slow = log.on(connect(autocommit=False))
    reader = follower(url, log, max_messages_per_batch=2)
    begin = reader.initialOffset()
    partition = log.append("before", key="k")[0]
    slow.append("slow", key="k")
    log.append("behind", key="k")

    held = reader.latestOffset(begin, ReadAllAvailable())
    slow.connection.commit()
    limited = reader.latestOffset(begin, reader.getDefaultReadLimit())
    then = reader.latestOffset(begin, ReadAllAvailable())

    assert [offset["next"][str(partition)] for offset in (begin, held, limited, then)] == [1, 2, 3, 4]
    assert reader.partitions(begin, begin) == []


def test_what_comes_after_the_beginning_of_a_run_is_for_the_next(url: str, log: Log) -> None:
    reader = follower(url, log)
    begin = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    log.append("later")

    assert reader.latestOffset(begin, ReadAllAvailable()) == begin
    assert sum(reader.reportLatestOffset()["next"].values()) == sum(begin["next"].values()) + 1


def test_loss_stops_the_query_unless_configured_otherwise(url: str, log: Log, caplog: pytest.LogCaptureFixture) -> None:
    for n in range(6):
        log.append(n)
    reader = follower(url, log)
    begin = reader.initialOffset()
    end = reader.latestOffset(begin, ReadAllAvailable())
    log.value(
        "update signalbox.stream_partition set first_position = 3 where stream_id = %s and partition = 0 returning 1",
        log.stream_id,
    )

    with pytest.raises(MessagesLost, match=r"dropped 2 positions of partition 0 .*, from 1 on.*on_loss"):
        reader.partitions(begin, end)
    follower(url, log, on_loss="skip").partitions(begin, end)
    assert "dropped 2 positions of partition 0" in caplog.text


def test_a_checkpoint_of_another_stream_is_refused(url: str, log: Log) -> None:
    reader = follower(url, log)
    offset = {**reader.initialOffset(), "stream_id": 0}

    with pytest.raises(InvalidArgument, match="begin a new checkpoint"):
        reader.latestOffset(offset, ReadMaxRows(1))


def test_a_checkpoint_that_is_ahead_of_a_restored_stream_is_refused(url: str, log: Log) -> None:
    reader = follower(url, log)
    offset = {**reader.initialOffset(), "next": {"0": 1, "1": 9}}

    with pytest.raises(InvalidArgument, match=r"partition 1 .* ends at position 0, .* checkpoint is at 8"):
        reader.latestOffset(offset, ReadAllAvailable())


def test_a_lost_connection_is_reopened(url: str, log: Log) -> None:
    reader = follower(url, log)
    begin = reader.initialOffset()
    log.value(
        "select pg_terminate_backend(pid, 60000) from pg_stat_activity where application_name = 'signalbox spark'"
    )
    log.append(1)

    assert reader.latestOffset(begin, ReadAllAvailable()) != begin
    reader.stop()


def test_partitions_share_a_limit() -> None:
    assert shared({0: 10, 1: 10, 2: 1}, 9) == {2: 1, 0: 4, 1: 4}
    assert shared({0: 10, 1: 0, 2: 10}, 1) == {1: 0, 0: 0, 2: 1}
    assert shared({0: 1, 1: 2}, 100) == {0: 1, 1: 2}
