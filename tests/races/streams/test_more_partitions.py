"""Partitions are added while others append, read and make groups: each message is read once by each group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.races.sessions import finish, start, until_waiting
from tests.streams import Log, make_log

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def log(connect: Connect) -> Log:
    made = make_log(connect(), partitions=2)
    made.group()
    return made


def grow(log: Log, partitions: int) -> None:
    log.value(
        "select signalbox.configure_stream(%s, jsonb_build_object('partitions', %s::integer))", log.name, partitions
    )


def owned(log: Log, member: str) -> list[int]:
    return [row[0] for row in log.rows("select partition from signalbox.join_group(%s, 'g', %s)", log.name, member)]


def test_appends_and_reads_in_progress_go_on_and_nothing_is_lost(log: Log, connect: Connect) -> None:
    appender, reader, grower = (log.on(connect(autocommit=False)) for _ in range(3))
    for n in range(8):
        log.append(f"before {n}")
    appender.append("open", key="k")
    (read, *_) = reader.read("m", 1)
    grow(grower, 5)
    late = [log.append(f"late {n}", key="k")[0] for n in range(2)]
    grower.connection.commit()
    after = {log.append(f"after {n}")[0] for n in range(10)}
    appender.connection.commit()

    assert set(late) < {0, 1}
    assert after == {0, 1, 2, 3, 4}
    assert reader.commit(read)
    reader.connection.commit()
    rest = [payload for _ in range(2) for payload in log.consume("m")]
    expected = [f"before {n}" for n in range(8)] + ["open", "late 0", "late 1"] + [f"after {n}" for n in range(10)]
    assert sorted([read[3], *rest]) == sorted(expected)


def test_members_share_the_new_partitions(log: Log) -> None:
    assert (owned(log, "a"), owned(log, "b"), owned(log, "a"), owned(log, "b")) == ([0, 1], [], [0], [1])
    grow(log, 6)

    owned(log, "a")
    assert (len(owned(log, "b")), len(owned(log, "a"))) == (3, 3)


@pytest.mark.parametrize("first", ["group", "partitions"])
def test_a_group_that_is_made_at_the_same_time_has_all_partitions(
    log: Log, connect: Connect, observer: psycopg.Connection[Any], first: str
) -> None:
    maker, grower = log.on(connect(autocommit=False)), log.on(connect(autocommit=False))
    calls = {"group": (maker, lambda: maker.group("late")), "partitions": (grower, lambda: grow(grower, 4))}
    begun, begin = calls.pop(first)
    begin()
    ((waiting, wait),) = calls.values()
    going = start(wait)
    until_waiting(observer, waiting.connection)
    begun.connection.commit()
    finish(going)
    waiting.connection.commit()

    assert (
        log.value(
            "select count(*) from signalbox.group_partition p join signalbox.consumer_group g using (group_id)"
            " join signalbox.group_offset o using (group_id, partition) where g.stream_id = %s and g.name = 'late'",
            log.stream_id,
        )
        == 4
    )


def test_a_group_that_stays_unmade_holds_up_the_change_for_two_seconds(log: Log, connect: Connect) -> None:
    maker = log.on(connect(autocommit=False))
    maker.group("open")

    with pytest.raises(psycopg.Error) as refused:
        grow(log, 3)

    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", "partitions")


def test_the_order_of_a_key_holds_for_what_was_read_before(log: Log) -> None:
    """Do as the page says: close, read all, add partitions, open."""
    moved = next(
        key
        for key in map(str, range(100))
        if log.value("select signalbox._partition_of(%s, 2) <> signalbox._partition_of(%s, 4)", key, key)
    )
    old = log.append("old", key=moved)
    assert log.consume() == ["old"]
    assert log.rows("select * from signalbox.preview_partitions(%s, 4)", log.name) == [(2, 1, 0.5, 0)]
    grow(log, 4)
    new = log.append("new", key=moved)

    assert (old[0] != new[0], new[1]) == (True, 1)
    assert log.consume() == ["new"]
