"""Audit chain under concurrency: no gap, no fork, the order of commits, and no wait for an open action."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.races.sessions import finish, start, until_waiting

Connect = Callable[..., psycopg.Connection[Any]]

WRITE = "insert into signalbox.audit_event (actor, action, reason) values ('race', 'race', %s) returning audit_event_id"


def write(session: psycopg.Connection[Any], reason: str = "") -> int:
    row = session.execute(WRITE, [reason]).fetchone()
    assert row is not None
    return int(row[0])


def position(session: psycopg.Connection[Any], event_id: int) -> int:
    row = session.execute("select position from signalbox.audit_event where audit_event_id = %s", [event_id]).fetchone()
    assert row is not None
    return int(row[0])


def complaint(session: psycopg.Connection[Any]) -> Any:
    row = session.execute("select complaint from signalbox.verify_audit()").fetchone()
    assert row is not None
    return row[0]


def test_an_open_action_blocks_no_other_and_follows_the_finished_ones(connect: Connect) -> None:
    slow, quick = connect(), connect()
    slow.execute("begin")
    first = write(slow)

    second = write(quick)  # commits at once, though an older row is not over

    slow.execute("commit")
    assert first < second
    assert position(quick, second) + 1 == position(quick, first)
    assert complaint(quick) is None


def test_what_is_rolled_back_leaves_no_gap(connect: Connect) -> None:
    session = connect()
    before = write(session)
    session.execute("begin")
    write(session, "never")
    session.execute("rollback")
    after = write(session)

    assert position(session, after) == position(session, before) + 1
    assert complaint(session) is None


def test_several_rows_of_one_action_stand_together(connect: Connect) -> None:
    session = connect()
    session.execute("begin")
    ids = [write(session) for _ in range(3)]
    session.execute("commit")

    places = [position(session, event_id) for event_id in ids]
    assert places == list(range(places[0], places[0] + 3))


def test_of_two_that_commit_at_once_the_second_follows_the_first(connect: Connect) -> None:
    holder, waiter, observer = connect(), connect(), connect()
    holder.execute("begin")
    first = write(holder)
    holder.execute("set constraints all immediate")  # what a commit does first: it has the head now

    second = start(write, waiter)
    until_waiting(observer, waiter)
    holder.execute("commit")

    assert position(observer, finish(second)) == position(observer, first) + 1
    assert complaint(observer) is None


def test_a_second_that_cannot_see_the_first_is_refused_and_forks_nothing(connect: Connect) -> None:
    late, early = connect(), connect()
    late.execute("begin isolation level repeatable read")
    write(late)
    write(early)

    with pytest.raises(psycopg.errors.SerializationFailure):
        late.execute("commit")

    assert complaint(early) is None


def test_many_at_once_make_one_chain(connect: Connect) -> None:
    sessions = [connect() for _ in range(6)]
    begin = threading.Barrier(len(sessions))

    def work(session: psycopg.Connection[Any]) -> None:
        begin.wait(60)
        for _ in range(30):
            write(session)

    before = write(sessions[0])
    for call in [start(work, session) for session in sessions]:
        finish(call)
    after = write(sessions[0])

    assert position(sessions[0], after) - position(sessions[0], before) == 6 * 30 + 1
    assert complaint(sessions[0]) is None


@pytest.mark.parametrize("prepare", ["prepare transaction", "/* by * a pool */ -- of ours\n PREPARE  Transaction"])
def test_a_prepared_transaction_cannot_hold_the_chain(connect: Connect, prepare: str) -> None:
    """Naive chain that blocks the commits of all other actions until its own commit."""
    slow, quick = connect(), connect()
    slow.execute("begin")
    write(slow)
    with pytest.raises(psycopg.errors.FeatureNotSupported) as caught:
        slow.execute(f"{prepare} 'audited'".encode())
    assert "in a transaction of its own" in str(caught.value.diag.message_hint)
    slow.rollback()

    quick.execute("set lock_timeout = '20s'")
    assert position(quick, write(quick)) > 0
    assert complaint(quick) is None
