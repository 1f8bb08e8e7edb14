"""Upkeep of streams: history of groups, subscriptions and cleaning; nothing without streams."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from queues.history import stream_groups
from queues.upkeep.stream_upkeep import StreamChores
from queues.upkeep.upkeep import Chores
from tests.engine import Engine
from tests.races.sessions import until
from tests.streams import Log, make_log

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def log(connect: Connect) -> Log:
    made = make_log(connect(), partitions=2)
    made.group()
    return made


# Whichever of the two is over when it is added up.
LAST_AND_THIS_MINUTE = """
insert into signalbox.group_history (group_id, bucket_at, lag_messages, lag_seconds, members, committed, lost)
select %s, date_bin('1 minute', now(), '2000-01-01 00:00+00') + (n - 6) * interval '10 seconds', n %% 6, n %% 6, 1, n, 0
from generate_series(0, 11) n
"""
STEPS = (
    "ensure_stream_segments",
    "feed_queues",
    "drop_stream_segments",
    "record_group_history",
    "compact_streams",
    "clean_streams",
)


def group_id(log: Log, name: str = "g") -> int:
    query = "select group_id from signalbox.consumer_group where stream_id = %s and name = %s"
    return int(log.value(query, log.stream_id, name))


def test_history_has_the_highest_lag_of_each_ten_seconds(log: Log, commits: None) -> None:
    for n in range(3):
        log.append(n)
    log.value("select signalbox.record_group_history()")
    log.consume()
    log.value("select signalbox.record_group_history()")

    now = datetime.now(UTC)
    steps = stream_groups.read(group_id(log), now - timedelta(minutes=5), now + timedelta(seconds=10), 10)

    assert max(step.lag_messages for step in steps if step.lag_messages is not None) == 3
    assert any(step.lag_messages is None for step in steps), "nothing is known from before"


def test_minutes_and_ten_minutes_are_made_of_what_is_finer(log: Log, commits: None) -> None:
    mine = group_id(log)
    log.connection.execute(LAST_AND_THIS_MINUTE, [mine])

    log.value("select signalbox.record_group_history()")
    log.value("select signalbox.record_group_history()")

    made = log.rows("select lag_messages, members from signalbox.group_history_minute where group_id = %s", mine)
    assert set(made) == {(5, 1)}


def test_offsets_that_were_passed_and_members_long_gone_are_forgotten(log: Log) -> None:
    for n in range(6):
        log.append(n)
    log.consume()
    log.end_lease("m")

    log.value("select signalbox.clean_streams()")

    kept = "select count(*) from signalbox.group_offset where group_id = %s"
    assert log.value(kept, group_id(log)) == 2
    assert log.numbers()[1:] == (0, 0)
    assert log.value("select count(*) from signalbox.group_member where group_id = %s", group_id(log)) == 0


def test_upkeep_feeds_the_queues_of_subscriptions(log: Log, engine: Engine, connect: Connect) -> None:
    log.group("mail", queue=engine.queue)
    log.append("a")
    chores = StreamChores(connect())
    chores.ensure()

    chores.feed()

    assert [row[3] for row in engine.receive(10)] == ["a"]


def test_every_step_for_streams_is_one_of_upkeeps(connect: Connect) -> None:
    steps = {step.name: step for step in Chores(connect()).steps}

    for name in (
        "ensure_stream_segments",
        "feed_queues",
        "drop_stream_segments",
        "record_group_history",
        "clean_streams",
    ):
        steps[name].run()


def test_segments_are_made_before_they_are_needed(log: Log) -> None:
    log.connection.execute(
        "update signalbox.stream set segments_until = now() + interval '1 second' where stream_id = %s", [log.stream_id]
    )
    log.connection.execute("delete from signalbox.stream_segment where stream_id = %s", [log.stream_id])
    names = log.rows(
        "select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid"
        " where i.inhparent = ('signalbox.stream_message_' || %s)::regclass",
        log.stream_id,
    )
    for (name,) in names:
        log.connection.execute(f"drop table signalbox.{name}")

    made = until(lambda: log.value("select signalbox.ensure_stream_segments()"), "segments")

    assert [name for name in made if name.startswith(f"stream_message_{log.stream_id}_")]


def test_no_lock_of_the_engine_is_among_those_of_partitions(log: Log) -> None:
    """Shared locks wait for nothing, unless another session takes an exclusive one."""
    first, last = log.rows("select signalbox._partition_class(100000, 63), signalbox._partition_class(1, 0)")[0]
    sources = log.rows(
        "select distinct m[1] from pg_proc p, regexp_matches(p.prosrc, 'hashtext\\(''([a-z_.]+)''\\)', 'g') m"
        " where p.pronamespace = 'signalbox'::regnamespace"
    )

    assert len(sources) > 5
    for (name,) in sources:
        assert not first <= log.value("select hashtext(%s)", name) <= last, name
