"""Message groups under concurrency: no waits, no lost wake-ups, FIFO order is commit order (hazards 3 to 5)."""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.sessions import finish, start, until, until_waiting

Connect = Callable[..., psycopg.Connection[Any]]
MakeEngine = Callable[..., Engine]
GROUPS = ["a", "b", "c", None]


@pytest.fixture
def fifo(make_engine: MakeEngine) -> Engine:
    return make_engine(mode="fifo")


def begun(engine: Engine, connect: Connect) -> Engine:
    """The queue on another session that is inside a transaction and never waits long."""
    session = engine.on(connect())
    session.connection.execute("set lock_timeout = '2s'")
    session.connection.execute("begin")
    return session


@pytest.mark.parametrize("first_to_commit", ["sender", "acker"])
def test_a_send_and_the_ack_ahead_of_it_do_not_miss_each_other(
    fifo: Engine, connect: Connect, first_to_commit: str
) -> None:
    fifo.send("first", group_id="a")
    handle = fifo.receive_one()[1]
    sender, acker = begun(fifo, connect), begun(fifo, connect)

    second = sender.send("second", group_id="a")
    assert acker.ack(handle) == [True]
    assert fifo.receive(10) == []
    order = [sender, acker] if first_to_commit == "sender" else [acker, sender]
    order[0].connection.execute("commit")
    assert fifo.receive(10) == []
    order[1].connection.execute("commit")

    assert [row[0] for row in fifo.receive(10)] == [second]


def test_a_promoter_that_has_not_committed_does_not_hide_the_hint_of_another(fifo: Engine, connect: Connect) -> None:
    fifo.send("first", group_id="a")
    handle = fifo.receive_one()[1]
    second = fifo.send("second", group_id="a")
    promoter = begun(fifo, connect)
    assert promoter.receive(10) == []  # it has looked at the lane, and holds it

    fifo.ack(handle)
    assert fifo.receive(10) == []
    promoter.connection.execute("commit")

    assert [row[0] for row in fifo.receive(10)] == [second]


def test_a_promoter_that_rolls_back_leaves_everything_as_it_was(fifo: Engine, connect: Connect) -> None:
    message_id = fifo.send("x", group_id="a")
    promoter = begun(fifo, connect)
    assert len(promoter.receive(10)) == 1
    promoter.connection.execute("rollback")

    assert [row[0] for row in fifo.receive(10)] == [message_id]


def test_acks_of_the_same_lanes_in_opposite_order_do_not_wait(fifo: Engine, connect: Connect) -> None:
    for group in ("a", "b"):
        fifo.send(group_id=group)
    handles = {row[4]: row[1] for row in fifo.receive(10)}
    for group in ("a", "b"):
        fifo.send(group_id=group)
    one, other = begun(fifo, connect), begun(fifo, connect)

    one.ack(handles["a"])
    other.ack(handles["b"])
    one.send(group_id="c")
    other.send(group_id="d")
    one.connection.execute("commit")
    other.connection.execute("commit")

    assert sorted(row[4] for row in fifo.receive(10)) == ["a", "b", "c", "d"]


def test_an_open_send_to_a_lane_does_not_hold_up_its_acks(fifo: Engine, connect: Connect) -> None:
    first = fifo.send("first", group_id="a")
    second = fifo.send("second", group_id="a")
    sender = begun(fifo, connect)
    sender.send("third", group_id="a")

    fifo.connection.execute("set lock_timeout = '1s'")
    (received, handle, *_) = fifo.receive_one()
    assert received == first
    assert fifo.ack(handle) == [True]
    assert fifo.receive_one()[0] == second


def test_senders_to_one_group_take_turns_from_before_their_place(
    fifo: Engine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    slow, quick = fifo.on(connect()), fifo.on(connect())
    slow.connection.execute("begin")
    first = slow.send("first", group_id="a")

    second = start(quick.send, "second", group_id="a")
    until_waiting(observer, quick.connection)
    assert fifo.receive(10) == []
    other = fifo.send("another group", group_id="b")
    slow.connection.execute("commit")

    assert finish(second) > first
    assert {row[0] for row in fifo.receive(10)} == {first, other}


def test_batches_with_groups_in_opposite_order_do_not_wait_in_a_circle(fifo: Engine, connect: Connect) -> None:
    groups = [f"g{number}" for number in range(50)]
    batches = "select signalbox.send_batch(%s, array_fill('1'::jsonb, array[50]), group_ids => %s)"

    def send_all(groups: list[str]) -> None:
        session = fifo.on(connect())
        for _ in range(10):
            session.rows(batches, fifo.queue, groups)

    for call in [start(send_all, groups), start(send_all, groups[::-1])]:
        finish(call)
    assert fifo.waiting() == 1000


def test_a_redriven_message_is_alone_though_letters_no_longer_hold_their_groups(
    make_engine: MakeEngine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    """The setting changes while a dead letter that held its group is being redriven."""
    fifo = make_engine(mode="fifo", fifo_block_on_dead_letter=True)
    first = fifo.send("dies", group_id="a")
    second = fifo.send("waits for it", group_id="a")
    fifo.nack(fifo.receive_one()[1], reason="rejected")
    redriving, configuring = fifo.on(connect()), fifo.on(connect())
    redriving.connection.execute("begin")
    redriving.rows(
        "select signalbox.redrive(array(select dead_letter_id from signalbox.dead_letter where message_id = %s))", first
    )

    change = start(
        configuring.value, "select signalbox.configure_queue(%s, '{\"fifo_block_on_dead_letter\": false}')", fifo.queue
    )
    until_waiting(observer, configuring.connection)
    redriving.connection.execute("commit")
    finish(change)

    for message_id in (first, second):
        ((received, handle, *_),) = fifo.receive(10)
        assert received == message_id
        fifo.ack(handle)
    assert fifo.waiting() == 0


def test_a_message_that_fails_during_the_release_of_dead_letters_releases_its_group(
    make_engine: MakeEngine, connect: Connect, observer: psycopg.Connection[Any]
) -> None:
    fifo = make_engine(mode="fifo", fifo_block_on_dead_letter=True)
    fifo.send("dies", group_id="a")
    second = fifo.send("waits for it", group_id="a")
    handle = fifo.receive_one()[1]
    dying, configuring = fifo.on(connect()), fifo.on(connect())
    dying.connection.execute("begin")
    dying.nack(handle, reason="rejected")

    change = start(
        configuring.value, "select signalbox.configure_queue(%s, '{\"fifo_block_on_dead_letter\": false}')", fifo.queue
    )
    until_waiting(observer, configuring.connection)
    dying.connection.execute("commit")
    finish(change)

    assert fifo.receive_one()[0] == second
    assert fifo.waiting() == 0


@pytest.mark.parametrize("scope", ["window", "in_flight"])
def test_a_send_and_a_batch_with_one_deduplication_id_do_not_wait_in_a_circle(
    make_engine: MakeEngine, connect: Connect, observer: psycopg.Connection[Any], scope: str
) -> None:
    """The two sends take the id before the group's turn, whichever session has the turn."""
    fifo = make_engine(mode="fifo", dedup_scope=scope)
    slow, single, batch = (fifo.on(connect()) for _ in range(3))
    slow.connection.execute("begin")
    slow.send("has the turn", group_id="a")
    batches = "select signalbox.send_batch(%s, array['1'::jsonb], group_ids => '{a}', deduplication_ids => '{key}')"

    of_batch = start(batch.value, batches, fifo.queue)
    until_waiting(observer, batch.connection)
    of_single = start(single.send, 1, group_id="a", deduplication_id="key")
    until_waiting(observer, single.connection)
    slow.connection.execute("commit")

    assert finish(of_batch) == finish(of_single)


def work_badly(session: Engine, chance: random.Random, kill: Callable[[int], Any], done: Callable[..., None]) -> bool:
    """One turn of a consumer that fails, gives back, finishes or is killed, at random; False when it was killed."""
    for row in session.receive(3, visibility_timeout=0.5):
        what = chance.random()
        if what < 0.2:
            session.nack(row[1], delay_seconds=chance.choice([None, 0, 0.01]))
        elif what < 0.3:
            kill(session.connection.info.backend_pid)
            return False
        elif what < 0.35:
            session.value("select signalbox.change_visibility(%s, 0)", row[1])
        else:
            done(session, row)
    return True


def send_in_order(session: Engine, group: str, count: int) -> None:
    for number in range(count):
        session.send(number, group_id=group)


def killer(connect: Connect) -> Callable[[int], Any]:
    """End a session by its process id."""
    connection = connect()
    return lambda pid: connection.execute("select pg_terminate_backend(%s)", [pid])


@pytest.mark.proof
def test_fifo_holds_under_eight_workers_failures_and_kills(make_engine: MakeEngine, connect: Connect) -> None:
    """Each group's messages are settled in the order in which they were sent, whatever happens to their consumers."""
    engine = make_engine(mode="fifo", max_receives=1000, backoff_base_seconds=0.01, backoff_cap_seconds=0.02)
    groups, each = [f"group-{number}" for number in range(5)], 20
    settled: dict[str, list[int]] = defaultdict(list)
    noted, over, kill = threading.Lock(), threading.Event(), killer(connect)

    def note(session: Engine, row: Any) -> None:
        with noted:  # the ack and its note are one step, or the note could come late
            if session.ack(row[1]) == [True]:
                settled[row[4]].append(row[3])

    def work(seed: int) -> None:
        chance, session = random.Random(seed), engine.on(connect())
        while not over.is_set():
            if not work_badly(session, chance, kill, note):
                session = engine.on(connect())

    sending = [start(send_in_order, engine.on(connect()), group, each) for group in groups]
    working = [start(work, seed) for seed in range(8)]
    try:
        until(lambda: sum(map(len, settled.values())) == each * len(groups), "every message settled")
    finally:
        over.set()
    for call in (*sending, *working):
        finish(call)

    assert settled == {group: list(range(each)) for group in groups}
    assert engine.waiting() == 0
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("limit", [1, 3])
def test_a_limit_holds_at_every_moment(make_engine: MakeEngine, connect: Connect, limit: int) -> None:
    engine = make_engine(group_max_in_flight=limit, visibility_timeout_seconds=3600)
    total, over = 240, threading.Event()
    done: list[int] = []
    most: dict[str, int] = defaultdict(int)
    in_flight: dict[str, int] = defaultdict(int)
    noted = threading.Lock()
    for number in range(total):
        engine.send(number, group_id=f"g{number % 4}")

    def work() -> None:
        session = engine.on(connect())
        while not over.is_set():
            for row in session.receive(2):
                with noted:
                    in_flight[row[4]] += 1
                    most[row[4]] = max(most[row[4]], in_flight[row[4]])
                with noted:
                    in_flight[row[4]] -= 1
                session.ack(row[1])
                done.append(row[0])

    working = [start(work) for _ in range(6)]
    try:
        until(lambda: len(done) == total, "every message acknowledged")
    finally:
        over.set()
    for call in working:
        finish(call)
    assert max(most.values()) <= limit
    assert len(set(done)) == total


@pytest.mark.proof
def test_a_claim_does_not_meet_what_is_blocked(make_engine: MakeEngine) -> None:
    """Ten thousand blocked lanes: none of their messages is in ready, and none of their lanes has a hint."""
    engine = make_engine(group_max_in_flight=1)
    for _ in range(2):
        engine.rows(
            "select count(*) from signalbox.send_batch(%s, array_fill('1'::jsonb, array[10000]),"
            " group_ids => array(select 'g' || n from generate_series(1, 10000) n))",
            engine.queue,
        )
    held = 0
    while rows := engine.receive(1000, visibility_timeout=3600):
        held += len(rows)

    assert held == 10_000
    assert engine.waiting() == 10_000
    for table in ("ready", "lane_hint"):
        assert engine.value(f"select count(*) from signalbox.{table} where queue_id = %s", engine.queue_id) == 0
