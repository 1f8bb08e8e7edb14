"""A dead letter is in one place, and one taker gets it (hazard 10, invariant 7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.naive import NaiveVerbs
from tests.races.sessions import finish, start, until_waiting

Connect = Callable[..., psycopg.Connection[Any]]

REDRIVE = "select count(*) from signalbox.redrive(%s)"
DELETE = "select signalbox.delete_dead_letters(%s)"


def dead_letters_of(engine: Engine) -> Engine:
    """The dead-letter queue of an engine's queue."""
    name = f"{engine.queue}-dlq"
    queue_id = engine.value("select queue_id from signalbox.queue where name = %s", name)
    return Engine(engine.connection, name, queue_id)


def test_a_consumer_of_the_dead_letter_queue_and_a_redrive_never_take_the_same(
    engine: Engine, connect: Connect
) -> None:
    letters = [engine.die(number) for number in range(4)]
    consumer = dead_letters_of(engine).on(connect())
    consumer.connection.execute("begin")
    taken = consumer.receive(2)

    assert engine.value(REDRIVE, letters) == 2  # and does not wait for the consumer

    consumer.connection.execute("commit")
    assert [row[3] for row in taken] == [0, 1]
    assert [row[3] for row in engine.receive(10)] == [2, 3]
    assert consumer.receive(10) == []
    for queue in (engine, dead_letters_of(engine)):
        assert queue.counted() == queue.recounted()


def test_a_redrive_that_is_rolled_back_leaves_the_letter_to_a_consumer(engine: Engine, connect: Connect) -> None:
    letter = engine.die("x")
    operator = engine.on(connect())
    operator.connection.execute("begin")
    assert operator.value(REDRIVE, [letter]) == 1
    assert dead_letters_of(engine).receive(1) == []
    operator.connection.execute("rollback")

    assert [row[3] for row in dead_letters_of(engine).receive(1)] == ["x"]
    assert engine.value(REDRIVE, [letter]) == 0


@pytest.mark.parametrize("first", [REDRIVE, DELETE], ids=["redrive first", "delete first"])
@pytest.mark.parametrize("second", [REDRIVE, DELETE], ids=["then redrive", "then delete"])
def test_of_two_who_want_the_same_letters_one_gets_each(
    engine: Engine, connect: Connect, first: str, second: str
) -> None:
    letters = [engine.die(number) for number in range(6)]
    early, late = connect(), connect()
    early.execute("begin")
    got = [(early.execute(first, [letters[:4]]).fetchone() or (0,))[0]]
    got.append((late.execute(second, [letters]).fetchone() or (0,))[0])
    early.execute("commit")

    assert got == [4, 2]
    assert engine.value("select count(*) from signalbox.dead_letter where dead_letter_id = any(%s)", letters) == 0
    redriven = (4 if first == REDRIVE else 0) + (2 if second == REDRIVE else 0)
    assert len(engine.receive(10)) == redriven
    assert engine.counted() == engine.recounted()


def test_a_redrive_to_another_queue_is_counted_where_it_leaves_and_where_it_arrives(
    make_engine: Callable[..., Engine],
) -> None:
    engine, other = make_engine(), make_engine()
    letters = [engine.die(number) for number in range(3)]

    assert engine.value("select count(*) from signalbox.redrive(%s, %s)", letters, other.queue) == 3

    assert [row[3] for row in other.receive(10)] == [0, 1, 2]
    for queue in (engine, other, dead_letters_of(engine)):
        assert queue.counted() == queue.recounted()


def test_many_redrives_of_the_same_letters_move_each_once(engine: Engine, connect: Connect) -> None:
    letters = [engine.die(number) for number in range(30)]
    sessions = [connect() for _ in range(4)]

    def redrive_all(session: psycopg.Connection[Any], step: int) -> list[int]:
        moved = []
        for start_at in range(0, 30, step):
            rows = session.execute(
                "select dead_letter_id from signalbox.redrive(%s)", [letters[start_at : start_at + step][::-1]]
            )
            moved += [row[0] for row in rows.fetchall()]
        return moved

    calls = [start(redrive_all, session, step) for session, step in zip(sessions, (1, 4, 7, 30), strict=True)]
    moved = [letter for call in calls for letter in finish(call)]
    # A redrive passes over what another holds at that moment; that one may be rolled back, so it asks again.
    moved += redrive_all(sessions[0], 30)

    assert sorted(moved) == letters
    assert len({row[0] for row in engine.receive(100)}) == 30


def test_a_redrive_that_does_not_lock_first_would_wait_or_move_twice(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any], naive: NaiveVerbs
) -> None:
    naive.install("_redrive", {"for update skip locked": ""})
    naive.install("redrive", {})
    letter = engine.die("x")
    first, second = naive.engine(engine, connect()), naive.engine(engine, connect())
    first.connection.execute("begin")
    assert first.value(REDRIVE, [letter]) == 1

    waiting = start(second.value, REDRIVE, [letter])
    until_waiting(observer, second.connection)  # an operator's click hangs until the other's job commits

    first.connection.execute("commit")
    assert finish(waiting) == 0


def test_a_redrive_whose_session_is_killed_moved_nothing(engine: Engine, connect: Connect) -> None:
    letters = [engine.die(number) for number in range(3)]
    session = connect()
    session.execute("begin")
    session.execute(REDRIVE, [letters])
    engine.value("select pg_terminate_backend(%s, 60000)", session.info.backend_pid)

    assert engine.value(REDRIVE, letters) == 3
    assert engine.counted() == engine.recounted() == (3, 0, 0, 0, 0)


def test_a_dead_letter_queue_hands_out_its_dead_whatever_priorities_it_has_seen(engine: Engine) -> None:
    engine.die("dead")
    queue = dead_letters_of(engine)
    for priority in (0, 5, 9):
        queue.send("alive", priority=priority)

    assert sorted(row[3] for row in queue.receive(10)) == ["alive", "alive", "alive", "dead"]

    engine.die("dead later")
    assert [row[3] for row in queue.receive(10)] == ["dead later"]


def test_two_who_first_need_a_dead_letter_queue_share_it_and_do_not_wait(engine: Engine, connect: Connect) -> None:
    handles = [engine.receive_one()[1] for number in range(2) if engine.send(number)]
    first, second = engine.on(connect()), engine.on(impatient(connect))
    first.connection.execute("begin")
    assert first.nack(handles[0], reason="rejected") == "dead"
    assert second.nack(handles[1], reason="rejected") == "dead"
    first.connection.execute("commit")

    assert dead_letters_of(engine).recounted()[4] == 2


@pytest.mark.parametrize("maker", ["the next dead letter", "upkeep"])
def test_letters_whose_queue_was_rolled_back_get_it_later(engine: Engine, connect: Connect, maker: str) -> None:
    handles = [engine.receive_one()[1] for number in range(3) if engine.send(number)]
    first, second = engine.on(connect()), engine.on(impatient(connect))
    first.connection.execute("begin")
    assert first.nack(handles[0], reason="rejected") == "dead"
    assert second.nack(handles[1], reason="rejected") == "dead"
    first.connection.execute("rollback")
    assert engine.value("select count(*) from signalbox.queue where name = %s", f"{engine.queue}-dlq") == 0

    if maker == "upkeep":
        engine.value("select signalbox.clean_up()")
    else:
        assert second.nack(handles[2], reason="rejected") == "dead"
    expected = 1 if maker == "upkeep" else 2
    assert dead_letters_of(engine).recounted()[4] == expected
    engine.value("select signalbox.aggregate_counters()")
    assert dead_letters_of(engine).counted()[4] == expected
    assert len(dead_letters_of(engine).receive(10)) == expected


def test_first_dead_letters_in_two_queues_crosswise_do_not_deadlock(
    make_engine: Callable[..., Engine], connect: Connect
) -> None:
    queues = make_engine(), make_engine()
    sessions = impatient(connect), impatient(connect)
    handles = [[one.receive_one()[1] for number in range(2) if one.send(number)] for one in queues]
    for session in sessions:
        session.execute("begin")
    for turn in range(2):
        for number, session in enumerate(sessions):
            which = (number + turn) % 2
            assert queues[which].on(session).nack(handles[which][number], reason="rejected") == "dead"
    for session in sessions:
        session.execute("commit")

    assert [dead_letters_of(one).recounted()[4] for one in queues] == [2, 2]


def test_dead_lettering_does_not_wait_for_a_deletion_of_another_source(engine: Engine, connect: Connect) -> None:
    engine.die("before")
    engine.send("dying")
    handle = engine.receive_one()[1]
    deleter = connect(autocommit=False)
    holder = dead_letters_of(engine)
    assert deleter.execute("select signalbox._claim_queue(%s)", [holder.queue_id]).fetchone() == (True,)
    dying = engine.on(impatient(connect))
    dying.connection.execute("begin")
    assert dying.nack(handle, reason="rejected") == "dead"
    impatient_deleter = impatient(connect)
    with pytest.raises(psycopg.errors.LockNotAvailable):
        impatient_deleter.execute("select signalbox.delete_queue(%s)", [holder.queue])
    dying.connection.execute("commit")


def test_a_first_dead_letter_does_not_wait_for_a_lock_on_queue_creation(engine: Engine, connect: Connect) -> None:
    engine.send("dying")
    handle = engine.receive_one()[1]
    keeper = connect(autocommit=False)
    keeper.execute("lock table signalbox.queue in share row exclusive mode")
    assert engine.on(impatient(connect)).nack(handle, reason="rejected") == "dead"
    keeper.commit()
    engine.value("select signalbox.clean_up()")

    assert [row[3] for row in dead_letters_of(engine).receive(10)] == ["dying"]


def test_a_first_dead_letter_does_not_wait_for_a_change_of_its_tenant(engine: Engine, connect: Connect) -> None:
    engine.send("dying")
    handle = engine.receive_one()[1]
    keeper = connect(autocommit=False)
    keeper.execute("select from signalbox.tenant where name = 'default' for no key update")
    assert engine.on(impatient(connect)).nack(handle, reason="rejected") == "dead"
    keeper.commit()
    engine.value("select signalbox.clean_up()")

    assert [row[3] for row in dead_letters_of(engine).receive(10)] == ["dying"]


def test_upkeep_marks_a_queue_that_was_being_configured_at_its_first_dead_letter(
    engine: Engine, connect: Connect
) -> None:
    name = f"{engine.queue}-dlq"
    engine.value("select signalbox.create_queue(%s)", name)
    configuring = connect(autocommit=False)
    configuring.execute("select signalbox.configure_queue(%s, '{}')", [name])
    engine.send("dying")
    handle = engine.receive_one()[1]
    assert engine.on(impatient(connect)).nack(handle, reason="rejected") == "dead"
    configuring.commit()
    engine.value("select signalbox.clean_up()")

    assert [row[3] for row in dead_letters_of(engine).receive(10)] == ["dying"]


def impatient(connect: Connect) -> psycopg.Connection[Any]:
    """A session that fails rather than wait for a lock."""
    return connect(options="-c lock_timeout=1ms")


def test_a_message_given_back_forever_never_blocks_its_queue(engine: Engine) -> None:
    """receive_count stops at the largest that fits; one more would have failed every claim of the queue."""
    engine.send("reluctant")
    engine.rows("update signalbox.ready set receive_count = 32767 where queue_id = %s returning 1", engine.queue_id)

    handle = engine.receive_one()[1]
    engine.value("select signalbox.change_visibility(%s, 0)", handle)

    assert engine.receive_one()[2] == 32767


@pytest.mark.parametrize("how", ["rejected", "expired"])
def test_a_message_without_a_body_is_not_dead_lettered_empty(make_engine: Callable[..., Engine], how: str) -> None:
    """Hazard 8: an error, and the lease stays; a dead letter without its body could never be read or redriven."""
    engine = make_engine(max_receives=1)
    engine.send("lost")
    handle = engine.receive_one(visibility_timeout=0)[1]
    engine.connection.execute("delete from signalbox.message where queue_id = %s", [engine.queue_id])

    with pytest.raises(psycopg.errors.DataCorrupted, match="have no body"):
        engine.nack(handle, reason="rejected") if how == "rejected" else engine.receive(1)

    assert engine.counted() == engine.recounted() == (0, 0, 1, 0, 0)
    assert engine.value("select signalbox.purge(%s, null, '{leased}')", engine.queue) == 1  # the way out


def test_a_first_dead_letter_does_not_wait_for_a_configuration_further_down(
    engine: Engine, make_engine: Callable[..., Engine], connect: Connect
) -> None:
    """The dead-letter queue is an ordinary one until then, whose own dead letters go to a third."""
    third = make_engine()
    engine.value(
        "select signalbox.create_queue(%s, jsonb_build_object('dead_letter_queue', %s::text))",
        f"{engine.queue}-dlq",
        third.queue,
    )
    engine.send("dies")
    handle = engine.receive_one()[1]
    operator = connect(autocommit=False)
    operator.execute("select signalbox.configure_queue(%s, '{\"paused\": true}')", [third.queue])
    engine.connection.execute("set lock_timeout = '20s'; set statement_timeout = '10s'")

    assert engine.nack(handle, reason="rejected") == "dead"
    assert [row[3] for row in dead_letters_of(engine).receive(10)] == ["dies"]
