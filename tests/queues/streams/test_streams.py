"""Streams: appending, reading in groups, committing, seeking, groups that feed a queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from queues.control import maintenance
from tests.engine import Engine
from tests.maintained import Begin, begin
from tests.streams import Log, make_log

__all__ = ["begin"]

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def log(connect: Connect) -> Log:
    """A stream of two partitions with a group that reads from the beginning."""
    made = make_log(connect(), partitions=2)
    made.group()
    return made


def test_messages_without_a_key_take_the_partitions_in_turn(log: Log) -> None:
    assert [log.append(n)[0] for n in range(4)] == [0, 1, 0, 1]


def test_messages_of_one_key_stay_in_one_partition_in_order(log: Log) -> None:
    places = [log.append(n, key="customer-7") for n in range(5)]

    assert len({partition for partition, _ in places}) == 1
    assert [position for _, position in places] == [1, 2, 3, 4, 5]
    assert [row[3] for row in log.read()] == [0, 1, 2, 3, 4]


def test_a_batch_has_its_places_in_the_order_of_the_payloads(log: Log) -> None:
    places = log.rows(
        "select * from signalbox.append_batch(%s, array['1', '2', '3']::jsonb[], keys => array['a', null, 'a'])",
        log.name,
    )

    assert places[0][0] == places[2][0]
    stored = {(row[0], row[1]): row[3] for row in log.read()}
    assert [stored[place] for place in places] == [1, 2, 3]


def test_reading_again_without_committing_gives_the_same_again(log: Log) -> None:
    log.append("a")

    first = log.read()

    assert log.read() == first
    assert log.commit(first[0])
    assert log.read() == []


def test_each_group_reads_everything_for_itself(log: Log) -> None:
    log.group("other")
    log.append("a")

    assert log.consume() == ["a"]
    assert log.consume(group="other") == ["a"]
    assert log.consume() == []


def test_a_new_group_begins_at_the_end_or_at_a_time(log: Log) -> None:
    log.append("old", key="k")
    moment = log.value("select clock_timestamp() + interval '2 seconds'")
    log.value(  # as if it had been appended a while later
        "select count(*) from signalbox.append(%s, '\"new\"', key => 'k')", log.name
    )
    log.connection.execute(
        "update signalbox.stream_message set appended_at = %s where stream_id = %s and payload = '\"new\"'",
        [moment, log.stream_id],
    )
    log.group("from-now", "end")
    log.group("from-then", "time", at=moment)

    assert log.consume(group="from-now") == []
    assert log.consume(group="from-then") == ["new"]


def test_an_append_that_is_rolled_back_leaves_nothing(log: Log, connect: Connect) -> None:
    other = log.on(connect(autocommit=False))
    other.append("gone")
    other.connection.rollback()
    log.append("a")

    assert log.consume() == ["a"]
    assert log.consume() == []
    assert log.numbers() == (1, 0, 0), "the unused position is passed"


def test_an_append_in_a_savepoint_that_is_rolled_back_is_entered_again(log: Log, connect: Connect) -> None:
    other = log.on(connect(autocommit=False))
    other.connection.execute("savepoint before")
    other.append("gone", key="k")
    other.connection.execute("rollback to savepoint before")
    other.append("open", key="k")
    log.append("behind", key="k")

    assert log.read() == []
    other.connection.commit()
    assert log.consume() == ["open", "behind"]


def test_lag_counts_what_is_not_committed(log: Log) -> None:
    for n in range(4):
        log.append(n)
    log.commit(log.read(most=1)[0])

    assert log.numbers() == (1, 3, 0)


def test_a_commit_never_goes_back(log: Log) -> None:
    log.append("a", key="k")
    log.append("b", key="k")
    first, second = log.read()

    assert log.commit(second)
    assert not log.commit(first)
    assert log.read() == []


def test_seek_to_the_beginning_reads_all_again_and_says_how_many(log: Log) -> None:
    for n in range(4):
        log.append(n)
    log.consume()

    preview = log.seek("beginning", dry_run=True)
    assert [row[3] for row in preview] == [2, 2]
    assert log.read() == []

    assert log.seek("beginning") == preview
    assert sorted(log.consume()) == [0, 1, 2, 3]


def test_seek_of_one_partition_to_an_offset(log: Log) -> None:
    places = [log.append(n, key="k") for n in range(3)]
    log.consume()
    partition = places[0][0]

    log.seek("offset", partition=partition, through_position=1)

    assert log.consume() == [1, 2]


def test_seek_to_the_end_passes_what_was_not_read(log: Log) -> None:
    for n in range(4):
        log.append(n)

    assert sum(row[3] for row in log.seek("end")) == -4
    assert log.read() == []


@pytest.mark.parametrize(
    ("statement", "field"),
    [
        ("signalbox.create_stream('bad name')", "name"),
        ("signalbox.create_stream('fine', '{\"partitions\": 0}')", "partitions"),
        ("signalbox.create_stream('fine', '{\"partitions\": 1.5}')", "partitions"),
        ("signalbox.create_stream('fine', '{\"colour\": 1}')", "colour"),
        ("signalbox.create_stream('fine', '{\"closed\": 1}')", "closed"),
        ("signalbox.configure_stream(%(name)s, '{\"partitions\": 1}')", "partitions"),
        ("signalbox.preview_partitions(%(name)s, 1)", "partitions"),
        ("signalbox.preview_partitions(%(name)s, 65)", "partitions"),
        ("signalbox.append(%(name)s, null)", "payload"),
        ("signalbox.append(%(name)s, '1', '[]')", "attributes"),
        ("signalbox.append(%(name)s, '1', key => '')", "key"),
        ("signalbox.append('none-such', '1')", "stream"),
        ("signalbox.append_batch(%(name)s, array['1']::jsonb[], keys => '{a,b}')", "keys"),
        ("signalbox.create_group(%(name)s, 'x', 'middle')", "point"),
        ("signalbox.create_group(%(name)s, 'x', 'time')", "at"),
        ("signalbox.create_group(%(name)s, 'x', queue => 'none-such')", "queue"),
        ("signalbox.read_stream(%(name)s, 'none-such', 'm')", "group_name"),
        ("signalbox.read_stream(%(name)s, 'g', '')", "member"),
        ("signalbox.read_stream(%(name)s, 'g', 'm', 0)", "max_messages"),
        ("signalbox.commit_offset(%(name)s, 'g', 'm', 9, 1, 1)", "partition"),
        ("signalbox.commit_offset(%(name)s, 'g', 'm', 0, 99, 1)", "through_position"),
        ("signalbox.seek(%(name)s, 'g', 'offset')", "through_position"),
        ("signalbox.join_group(%(name)s, 'g', 'm', -1)", "lease_seconds"),
    ],
)
def test_bad_input_is_refused_and_named(log: Log, statement: str, field: str) -> None:
    with pytest.raises(psycopg.Error) as refused:
        log.connection.execute(f"select {statement}".encode(), {"name": log.name})

    assert (refused.value.sqlstate or "").startswith("SB4")
    assert refused.value.diag.column_name == field


def test_a_stream_is_made_once(log: Log) -> None:
    again = log.value("select signalbox.create_stream(%s, '{\"partitions\": 2}')", log.name)
    assert again == log.stream_id

    with pytest.raises(psycopg.Error) as refused:
        log.value("select signalbox.create_stream(%s, '{\"partitions\": 3}')", log.name)
    assert refused.value.diag.column_name == "partitions"


def test_a_closed_stream_accepts_nothing_and_is_read_on(log: Log) -> None:
    log.append("a")
    log.value("select signalbox.configure_stream(%s, '{\"closed\": true}')", log.name)

    with pytest.raises(psycopg.Error) as refused:
        log.append("b")
    assert refused.value.sqlstate == "SB423"
    assert log.consume() == ["a"]


def test_a_subscription_sends_each_message_to_its_queue_once(log: Log, engine: Engine) -> None:
    log.append({"n": 1}, key="customer-7")
    log.group("mail", "beginning", queue=engine.queue)

    log.value("select signalbox.feed_queues()")
    log.value("select signalbox.feed_queues()")

    ((_, handle, _, payload, group_id),) = engine.receive(10)
    assert (payload, group_id) == ({"n": 1}, "customer-7")
    assert engine.ack(handle) == [True]
    assert log.numbers("mail")[1:] == (0, 0)


def test_a_subscription_without_consumers_stays_within_its_window(log: Log, engine: Engine) -> None:
    log.group("mail", "beginning", queue=engine.queue, queue_window=3)
    for n in range(10):
        log.append(n)

    for _ in range(4):
        log.value("select signalbox.feed_queues()")
    assert engine.counted()[0] == 3
    assert log.numbers("mail")[1] == 7

    assert engine.ack(*[row[1] for row in engine.receive(3)]) == [True] * 3
    log.value("select signalbox.feed_queues()")
    assert engine.counted()[0] == 3


def test_a_queue_that_is_closed_holds_its_subscription_and_no_other(log: Log, make_engine: Any) -> None:
    shut, open_ = make_engine(closed=True), make_engine()
    log.group("shut", "beginning", queue=shut.queue)
    log.group("open", "beginning", queue=open_.queue)
    log.append("a")

    log.value("select signalbox.feed_queues()")

    assert log.numbers("shut")[1] == 1
    assert [row[3] for row in open_.receive(10)] == ["a"]


def test_maintenance_that_refuses_sends_holds_subscriptions_and_harms_none(
    log: Log, engine: Engine, begin: Begin
) -> None:
    log.group("mail", "beginning", queue=engine.queue)
    log.append("a")
    begin(refuses_sends=True)

    assert log.value("select signalbox.feed_queues()") == 0
    assert log.numbers("mail")[1] == 1
    maintenance.end(actor="ada")

    log.value("select signalbox.feed_queues()")
    assert [row[3] for row in engine.receive(10)] == ["a"]


@pytest.mark.parametrize(
    "limit",
    [
        {"max_backlog_messages": 10},
        {"publish_rate_per_second": 10},
        {"group_max_in_flight": 1, "group_max_waiting": 10},
    ],
    ids=["backlog", "rate", "lane"],
)
def test_a_queue_with_room_for_some_gets_some(log: Log, make_engine: Any, limit: dict[str, float]) -> None:
    """The backlog is larger than the queue's limit: a send of all of it would always be refused."""
    engine = make_engine(**limit)
    log.group("mail", "beginning", queue=engine.queue)
    for n in range(30):
        log.append(n, key="k")

    log.value("select signalbox.feed_queues()")

    lag = log.numbers("mail")[1]
    assert 20 <= lag < 30
    assert [row[3] for row in engine.receive(1)] == [0], "the first ones come first"


def test_messages_before_one_that_is_too_large_are_sent(log: Log, make_engine: Any) -> None:
    engine = make_engine(max_payload_bytes=1_024)
    log.group("mail", "beginning", queue=engine.queue)
    for payload in ("small", "x" * 2_000):
        log.append(payload, key="k")

    for _ in range(2):
        log.value("select signalbox.feed_queues()")

    assert [row[3] for row in engine.receive(10)] == ["small"]
    assert log.numbers("mail")[1] == 1


def test_a_group_that_feeds_a_queue_is_not_read_beside_it(log: Log, engine: Engine) -> None:
    log.group("mail", "beginning", queue=engine.queue)

    with pytest.raises(psycopg.Error) as refused:
        log.read(group="mail")
    assert refused.value.diag.column_name == "group_name"


def test_a_group_that_is_dropped_is_forgotten(log: Log) -> None:
    assert log.value("select signalbox.drop_group(%s, 'g')", log.name)
    assert not log.value("select signalbox.drop_group(%s, 'g')", log.name)
    with pytest.raises(psycopg.Error) as refused:
        log.read()
    assert refused.value.sqlstate == "SB404"
