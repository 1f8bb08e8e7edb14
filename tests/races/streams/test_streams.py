"""Streams with several sessions: nothing is skipped, and a lost partition cannot be committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.sessions import finish, start, until_waiting
from tests.streams import Log, make_log

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def log(connect: Connect) -> Log:
    """A stream of one partition with a group that reads from the beginning."""
    made = make_log(connect(), partitions=1)
    made.group()
    return made


def test_an_append_that_commits_late_is_not_skipped(log: Log, connect: Connect) -> None:
    slow = log.on(connect(autocommit=False))
    assert slow.append("first") == (0, 1)
    assert log.append("second") == (0, 2)

    assert log.consume() == [], "the second is committed, and behind one that may still come"
    slow.connection.commit()
    assert log.consume() == ["first", "second"]


def test_by_transaction_ids_alone_it_would_be_skipped(log: Log, connect: Connect) -> None:
    """The naive proof: a row may be read when its transaction is older than all that are running."""
    naive = "select payload from signalbox.stream_message where stream_id = %s and position > %s and xmin::text::bigint"
    naive += " < pg_snapshot_xmin(pg_current_snapshot())::text::bigint order by position"
    early, late = log.on(connect(autocommit=False)), log.on(connect(autocommit=False))
    early.value("select pg_current_xact_id()")
    late.value("select pg_current_xact_id()")
    late.append("first")
    early.append("second")
    early.connection.commit()

    assert log.rows(naive, log.stream_id, 0) == [("second",)], "and its reader goes on behind position 2"
    assert log.read() == []
    late.connection.commit()
    assert log.consume() == ["first", "second"]


def test_the_naive_reader_skips_it(log: Log, connect: Connect) -> None:
    slow = log.on(connect(autocommit=False))
    slow.append("first")
    log.append("second")
    naive = "select position from signalbox.stream_message where stream_id = %s and position > %s order by position"

    (last,) = log.rows(naive, log.stream_id, 0)
    slow.connection.commit()

    assert log.rows(naive, log.stream_id, last[0]) == []


def test_an_open_append_to_another_partition_or_stream_blocks_no_reader(log: Log, connect: Connect) -> None:
    other = make_log(connect(autocommit=False), partitions=1)
    other.append("open")
    log.append("a")

    assert log.consume() == ["a"]


def test_a_transaction_without_appends_blocks_no_reader(log: Log, connect: Connect) -> None:
    unrelated = connect(autocommit=False)
    unrelated.execute("select pg_current_xact_id()")
    log.append("a")

    assert log.consume() == ["a"]


def test_a_prepared_append_is_waited_for(log: Log, connect: Connect) -> None:
    if log.value("select current_setting('max_prepared_transactions')::int") == 0:
        # Without them there is nothing to wait for: PostgreSQL refuses to prepare.
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            log.connection.execute("begin; select 1; prepare transaction 'x'")
        log.connection.rollback()
        return
    slow = log.on(connect(autocommit=False))
    slow.append("first")
    slow.connection.execute(f"prepare transaction '{log.name}'")
    log.append("second")

    assert log.read() == []
    log.connection.execute(f"commit prepared '{log.name}'")
    assert log.consume() == ["first", "second"]


def test_appenders_do_not_wait_for_each_other(log: Log, connect: Connect) -> None:
    one, two = log.on(connect(autocommit=False)), log.on(connect(autocommit=False))
    one.append("a", key="k")

    assert two.append("b", key="k") == (0, 2)
    two.connection.commit()
    one.connection.commit()
    assert log.consume() == ["a", "b"]


def test_reading_needs_a_fresh_snapshot_for_each_statement(log: Log, connect: Connect) -> None:
    session = log.on(connect(autocommit=False))
    session.connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ

    with pytest.raises(psycopg.Error) as refused:
        session.read()
    assert refused.value.sqlstate == "SB425"


def test_two_members_share_the_partitions(connect: Connect) -> None:
    log = make_log(connect(), partitions=4)
    log.group()
    for n in range(8):
        log.append(n)
    assert len(log.read("a")) == 8

    other = log.on(connect())
    assert other.read("b") == [], "a partition in use stays with its member"
    halved = log.read("a")
    taken = other.read("b")

    assert len(halved) == len(taken) == 4
    assert not {row[0] for row in halved} & {row[0] for row in taken}


def test_two_members_that_join_at_once_take_no_partition_twice(connect: Connect) -> None:
    log = make_log(connect(), partitions=4)
    log.group()
    one, two = log.on(connect(autocommit=False)), log.on(connect(autocommit=False))
    for n in range(4):
        log.append(n)

    first = one.read("a")
    second = two.read("b")  # sees neither the other member nor what it took
    one.connection.commit()
    two.connection.commit()

    assert len(first) == 4
    assert second == []


def test_what_a_dead_member_had_goes_on_after_its_lease(log: Log, connect: Connect) -> None:
    log.append("a")
    (held,) = log.read("dead")
    other = log.on(connect())
    assert other.read("heir") == []

    log.end_lease("dead")

    assert other.consume("heir") == ["a"]
    assert not log.commit(held, "dead"), "its epoch is over"


def test_a_stale_members_commit_is_refused_and_moves_nothing(log: Log) -> None:
    log.append("a")
    (held,) = log.read("slow")
    log.end_lease("slow")
    (taken,) = log.read("heir")

    assert not log.commit(held, "slow")
    assert log.read("heir") == [taken]
    assert log.commit(taken, "heir")


def test_a_commit_under_way_is_not_robbed(log: Log, connect: Connect) -> None:
    log.append("a")
    slow = log.on(connect(autocommit=False))
    (held,) = slow.read("slow")
    slow.connection.commit()
    assert slow.commit(held, "slow")
    log.end_lease("slow")

    assert log.read("heir") == [], "the row is locked: it is skipped without a wait"
    slow.connection.commit()
    assert log.consume("heir") == [], "it was read"


def test_a_seek_while_a_member_works_is_not_undone_by_its_commit(log: Log) -> None:
    log.append("a")
    (held,) = log.read()

    log.seek("beginning")

    assert not log.commit(held)
    assert log.consume() == ["a"]


def test_a_seek_waits_for_a_commit_under_way(log: Log, connect: Connect) -> None:
    log.append("a")
    (held,) = log.read()
    session = log.on(connect(autocommit=False))
    assert session.commit(held)

    seeker = log.on(connect())
    seeking = start(seeker.seek, "beginning")
    until_waiting(log.connection, seeker.connection)
    session.connection.commit()
    finish(seeking)

    assert log.consume() == ["a"]


def test_an_offset_commits_with_the_work_or_not_at_all(log: Log, connect: Connect) -> None:
    log.append("a")
    session = log.on(connect(autocommit=False))
    (row,) = log.read()

    assert session.commit(row)
    session.connection.rollback()
    assert log.read() == [row]


def test_a_subscription_to_a_queue_that_is_being_deleted_is_refused_as_one_to_none(
    log: Log, make_engine: Callable[..., Engine], connect: Connect
) -> None:
    engine = make_engine()
    engine.value("select signalbox.configure_queue(%s, '{\"closed\": true}')", engine.queue)
    deleting, subscribing = connect(autocommit=False), connect()
    deleting.execute("select signalbox.delete_queue(%s, '{}')", [engine.queue])

    made = start(log.on(subscribing).group, "feeds", queue=engine.queue)
    until_waiting(log.connection, subscribing)
    deleting.commit()

    with pytest.raises(psycopg.errors.Error) as caught:
        finish(made)
    assert caught.value.sqlstate == "SB404"


def test_the_second_of_two_sessions_with_equal_work_is_refused(
    log: Log, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    """One member's name on two connections, because the first was thought lost: one epoch, and one commit."""
    for n in range(3):
        log.append(n)
    first, second = log.on(connect(autocommit=False)), log.on(connect(autocommit=False))
    read = first.read()
    first.connection.commit()
    assert second.read() == read
    second.connection.commit()

    assert first.commit(read[-1])
    late = start(second.commit, read[-1])
    until_waiting(observer, second.connection)
    first.connection.commit()

    assert finish(late) is False
    second.connection.rollback()
    assert log.numbers()[1] == 0


def test_a_position_that_was_committed_is_not_committed_again(log: Log) -> None:
    for n in range(3):
        log.append(n)
    first, _, last = log.read()

    assert log.commit(last)
    assert not log.commit(last)
    assert not log.commit(first)
    assert log.numbers()[1] == 0


def test_a_position_above_the_horizon_cannot_be_committed(log: Log, connect: Connect) -> None:
    """An older append of another session is still open: it would be skipped forever."""
    log.append("before")
    slow = log.on(connect(autocommit=False))
    slow.append("late")
    log.append("after")
    (row,) = log.read()
    beyond = (row[0], row[1] + 2, row[2])

    with pytest.raises(psycopg.Error) as refused:
        log.commit(beyond)
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SB400", "through_position")
    slow.connection.commit()

    assert log.consume() == ["before", "late", "after"]


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_an_older_snapshot_commits_no_offset(log: Log, connect: Connect, level: str) -> None:
    log.append("a")
    session = log.on(connect())
    session.connection.execute(f"begin isolation level {level}".encode())
    session.value("select 1")
    (row,) = log.read()

    with pytest.raises(psycopg.Error) as refused:
        session.commit(row)
    assert refused.value.sqlstate == "SB425"
