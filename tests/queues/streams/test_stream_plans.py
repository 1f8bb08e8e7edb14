"""Cost of a stream read is independent of the stream's size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.queues.receiving.plans import Plan, plans_of
from tests.streams import Log, make_log

Connect = Callable[..., psycopg.Connection[Any]]

MESSAGES = 200_000


@pytest.fixture(scope="module")
def long(dsn: str) -> Iterator[Log]:
    """A stream of four partitions with many messages, of which a group has read half."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        log = make_log(connection, partitions=4)
        log.group()
        log.connection.execute(
            "insert into signalbox.stream_message (stream_id, partition, position, payload, appended_at)"
            " select %s, n %% 4, n / 4 + 1, to_jsonb(n), clock_timestamp() from generate_series(0, %s) n",
            [log.stream_id, MESSAGES - 1],
        )
        log.value(
            "select sum(setval(p, %s)) from signalbox.stream s, unnest(s.positions) p where s.stream_id = %s",
            MESSAGES // 4,
            log.stream_id,
        )
        log.value("select count(*) from signalbox.join_group(%s, 'g', 'm', 3600)", log.name)
        log.connection.execute(
            "insert into signalbox.group_offset (group_id, partition, position)"
            " select p.group_id, p.partition, %s from signalbox.group_partition p join signalbox.consumer_group g"
            " using (group_id) where g.stream_id = %s",
            [MESSAGES // 8, log.stream_id],
        )
        log.connection.execute("analyze signalbox.stream_message")
        yield log


def of_messages(plans: list[Plan]) -> list[Plan]:
    return [plan for plan in plans if any(name.startswith("stream_message") for _, name in plan.scans())]


@pytest.mark.parametrize(
    "statement",
    [
        "select count(*) from signalbox.read_stream(%s, 'g', 'm', 100)",
        "select count(*) from signalbox.browse_stream(%s, 1)",
        "select count(*) from signalbox.browse_stream(%s, 1, below => 20000)",
        "select count(*) from signalbox.seek(%s, 'g', 'time', at => now() - interval '1 minute', dry_run => true)",
    ],
)
def test_it_reads_the_head_of_an_index(long: Log, connect: Connect, statement: str) -> None:
    plans = of_messages(plans_of(connect(), statement, long.name))

    assert plans
    assert [plan.whole_scans() for plan in plans] == [[]] * len(plans)
    assert [plan.sorted_relations() for plan in plans] == [set()] * len(plans)


def test_numbers_of_a_group_read_no_more_than_one_message_of_each_partition(long: Log, connect: Connect) -> None:
    statement = (
        "select n.lag_messages from signalbox.consumer_group g, signalbox.group_numbers(array[g.group_id]) n"
        " where g.stream_id = %s"
    )
    plans = of_messages(plans_of(connect(), statement, long.stream_id))

    assert long.value(statement, long.stream_id) == MESSAGES // 2
    assert plans
    assert [plan.whole_scans() for plan in plans] == [[]] * len(plans)


def test_a_read_touches_only_the_pages_it_needs(long: Log, connect: Connect) -> None:
    """A hundred messages, a probe of each segment, the group's rows: far below what a scan would read."""
    session = connect()
    read = "select count(*) from signalbox.read_stream(%s, 'g', 'm', 100)"
    session.execute(read, [long.name])  # reads the catalogs once
    plan = session.execute(f"explain (analyze, buffers, format json) {read}", [long.name]).fetchone()
    assert plan is not None
    root = plan[0][0]["Plan"]

    assert root["Shared Hit Blocks"] + root["Shared Read Blocks"] < 500
