"""Claims of several messages of one FIFO group: no other consumer has the group, and what returns keeps its place.

Each race is written once and run with the engine, and with a naive version that disorders or strands a message.
"""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine, Row
from tests.races.floors import Floors
from tests.races.groups.test_lane_floors import NOTE
from tests.races.naive import NaiveVerbs
from tests.races.sessions import finish, start, until

Connect = Callable[..., psycopg.Connection[Any]]
MakeEngine = Callable[..., Engine]

ORDERS = [(1, 0, 2), (2, 1, 0), (0, 2, 1)]
WAYS: dict[str, str] = {
    "given back": "select signalbox.change_visibility(%(handle)s, 0)",
    "failed": "select signalbox.nack(%(handle)s, 0)",
    "failed and due": "select signalbox.nack(%(handle)s, 0.001)",
}


STILL_DUE = "select count(*) from signalbox.scheduled where queue_id = %s and due_at > clock_timestamp()"


@pytest.fixture
def fifo(make_engine: MakeEngine) -> Engine:
    return make_engine(mode="fifo", max_receives=1000)


def receive_groups(engine: Engine, count: int = 10, seconds: float = 600) -> list[Row]:
    """Rows of (payload, handle)."""
    statement = "select payload, receipt_handle from signalbox.receive_groups(%s, %s, %s)"
    return engine.rows(statement, engine.queue, count, seconds)


def payloads(rows: list[Row]) -> list[Any]:
    return [row[0] for row in rows]


def send(engine: Engine, *names: str) -> None:
    for name in names:
        engine.send(name, group_id=name[0])


def one_by_one(engine: Engine) -> list[Any]:
    """Receive and acknowledge all that is left, message by message."""
    found = []
    while rows := engine.receive(1):
        found.append(rows[0][3])
        engine.ack(rows[0][1])
    return found


def test_a_group_is_claimed_in_order_and_held_until_all_of_it_has_ended(fifo: Engine, connect: Connect) -> None:
    send(fifo, "a1", "b1", "a2", "a3", "a4")
    other = fifo.on(connect())
    first = receive_groups(fifo, 3)
    assert payloads(first) == ["a1", "a2", "a3"]
    assert payloads(receive_groups(other)) == ["b1"]
    fifo.ack(first[2][1])
    fifo.ack(first[0][1])
    assert receive_groups(other) == other.receive(10) == []
    assert fifo.waiting() == 1
    fifo.ack(first[1][1])
    assert payloads(receive_groups(other)) == ["a4"]
    assert fifo.counted() == fifo.recounted() == (0, 0, 2, 0, 0)


@pytest.mark.parametrize("way", WAYS)
def test_what_returns_keeps_its_place_in_whichever_order_it_returns(fifo: Engine, way: str) -> None:
    for order in ORDERS:
        send(fifo, "a1", "a2", "a3", "a4")
        claimed = receive_groups(fifo, 3)
        for place in order:
            assert fifo.receive(10) == []
            fifo.connection.execute(WAYS[way].encode(), {"handle": claimed[place][1]})
        until(lambda: fifo.value(STILL_DUE, fifo.queue_id) == 0, "every message due")
        assert fifo.counted() == fifo.recounted()
        assert one_by_one(fifo) == ["a1", "a2", "a3", "a4"], order
    assert fifo.waiting() == 0


def test_leases_that_end_return_to_their_places(
    fifo: Engine, connect: Connect, let_leases_end: Callable[[str], None]
) -> None:
    send(fifo, "a1", "a2", "a3")
    claimed = receive_groups(fifo, 3)
    fifo.rows("select signalbox.change_visibility(%s, 600)", claimed[1][1])
    let_leases_end(fifo.queue)
    again = receive_groups(fifo.on(connect()), 10)
    assert payloads(again) == ["a1", "a2", "a3"]
    assert fifo.counted() == fifo.recounted() == (0, 0, 3, 0, 0)


def test_without_places_what_returned_first_would_come_first(fifo: Engine, naive: NaiveVerbs) -> None:
    naive.install("_returns_to_group", {"s.place is not null": "false"})
    naive.install("change_visibility_batch", {})
    send(fifo, "a1", "a2", "a3")
    claimed = receive_groups(fifo, 3)
    naive.engine(fifo).rows("select * from signalbox.change_visibility_batch(%s, 0)", [claimed[1][1]])
    assert one_by_one(fifo) == ["a2"]  # while a1 is in flight


@pytest.mark.parametrize("others", [["commit", "rollback"], ["rollback", "commit"]])
def test_a_claim_that_is_open_hides_its_group_and_a_rollback_restores_it(
    fifo: Engine, connect: Connect, others: list[str]
) -> None:
    send(fifo, "a1", "a2")
    claimer, returner = fifo.on(connect()), fifo.on(connect())
    for end in others:
        claimer.connection.execute("begin")
        claimed = receive_groups(claimer)
        assert payloads(claimed) == ["a1", "a2"]
        send(fifo, "a3")
        assert receive_groups(fifo) == fifo.receive(10) == []
        claimer.connection.execute(end.encode())
        for _, handle in claimed if end == "commit" else []:
            returner.connection.execute("begin")
            returner.rows("select signalbox.change_visibility(%s, 0)", handle)
            assert receive_groups(fifo) == []
            returner.connection.execute("commit")
        rows = receive_groups(fifo)
        fifo.ack(*(handle for _, handle in rows))
        assert payloads(rows) == ["a1", "a2", "a3"]
        send(fifo, "a1", "a2")


def behind_a_lock(engine: Engine, fifo: Engine, connect: Connect) -> list[Any]:
    """A claim while another transaction is about to remove the second message, and gives that up."""
    _, second, _ = (fifo.send(name, group_id="a") for name in ("a1", "a2", "a3"))
    remover = connect()
    remover.execute("begin")
    remover.execute("select from signalbox.waiting where message_id = %s for update", [second])
    claimed = receive_groups(engine)
    remover.execute("rollback")
    fifo.ack(*(handle for _, handle in claimed))
    return [*payloads(claimed), *one_by_one(fifo)]


def test_no_message_is_taken_behind_one_that_another_transaction_holds(fifo: Engine, connect: Connect) -> None:
    assert behind_a_lock(fifo, fifo, connect) == ["a1", "a2", "a3"]


def test_a_claim_that_skips_would_overtake(fifo: Engine, connect: Connect, naive: NaiveVerbs) -> None:
    naive.install("_receive_behind", {"where h.place = h.seen": "where h.place is not null"})
    naive.install("receive_groups", {})
    assert behind_a_lock(naive.engine(fifo), fifo, connect) == ["a1", "a3", "a2"]


def noted_while_held(engine: Engine, fifo: Engine, floors: Floors) -> list[Any]:
    """A group is noted while a claim holds its first messages; then these return."""
    send(fifo, "a1", "a2", "a3", "a4")
    floors.tick()
    claimed = receive_groups(fifo, 2)
    floors.tick()
    for _ in range(2):
        engine.value(NOTE.format(queue_id=fifo.queue_id))
    for _, handle in reversed(claimed):
        fifo.rows("select signalbox.change_visibility(%s, 0)", handle)
    return one_by_one(fifo)


def test_a_note_leaves_room_for_what_may_return(fifo: Engine, make_floors: Callable[..., Floors]) -> None:
    floors = make_floors(fifo)
    assert noted_while_held(fifo, fifo, floors) == ["a1", "a2", "a3", "a4"]
    assert floors.keeper.sweep() == 0


def test_a_note_of_what_waits_alone_would_strand_what_returns(
    fifo: Engine, make_floors: Callable[..., Floors], naive: NaiveVerbs
) -> None:
    naive.install("_note_lane", {", v_returning)": ")"})
    floors = make_floors(fifo)
    assert noted_while_held(naive.engine(fifo), fifo, floors) == ["a3", "a4"]
    assert floors.keeper.sweep() == 1


def test_a_claim_lowers_a_note_that_begins_behind_its_first(fifo: Engine, make_floors: Callable[..., Floors]) -> None:
    floors = make_floors(fifo)
    send(fifo, "a0", "a1", "a2")
    first = fifo.receive_one()
    floors.tick()
    fifo.value(NOTE.format(queue_id=fifo.queue_id))
    fifo.ack(first[1])
    claimed = receive_groups(fifo)
    fifo.rows("select signalbox.change_visibility(%s, 0)", claimed[0][1])
    assert floors.keeper.sweep() == 0
    fifo.rows("select signalbox.change_visibility(%s, 0)", claimed[1][1])
    assert one_by_one(fifo) == ["a1", "a2"]


@pytest.mark.parametrize("settings", [{"fifo_block_on_dead_letter": True}, {"group_release_interval_seconds": 0.001}])
def test_groups_that_pause_are_claimed_message_by_message(make_engine: MakeEngine, settings: dict[str, Any]) -> None:
    engine = make_engine(mode="fifo", **settings)
    send(engine, "a1", "a2")
    assert payloads(receive_groups(engine)) == ["a1"]


def test_limits_and_expired_messages_are_kept(make_engine: MakeEngine) -> None:
    engine = make_engine(mode="fifo", max_in_flight=2)
    send(engine, "a1", "a2", "a3")
    claimed = receive_groups(engine)
    assert payloads(claimed) == ["a1", "a2"]
    engine.ack(*(handle for _, handle in claimed))
    engine.rows("update signalbox.message set expires_at = now() where queue_id = %s returning 1", engine.queue_id)
    assert receive_groups(engine) == []
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


class Workers:
    """Consumers that claim groups, and settle, give back or forget what they claimed, at random."""

    def __init__(self, engine: Engine) -> None:
        self.settled: dict[str, list[int]] = defaultdict(list)
        self.over = threading.Event()
        self._engine = engine
        self._noted = threading.Lock()

    def work(self, seed: int, connection: psycopg.Connection[Any]) -> None:
        chance, session = random.Random(seed), self._engine.on(connection)
        statement = "select payload, receipt_handle, group_id from signalbox.receive_groups(%s, 10, %s)"
        while not self.over.is_set():
            refused: set[str] = set()  # after a failure a consumer gives back the rest of the group
            for row in session.rows(statement, session.queue, chance.choice([0.005, 600])):
                if row[2] in refused or chance.random() < 0.3 or not self._settle(session, row):
                    refused.add(row[2])
                    session.rows("select signalbox.change_visibility(%s, 0)", row[1])

    def _settle(self, session: Engine, row: Row) -> bool:
        with self._noted:  # the ack and its note are one step, or the note could come late
            if session.ack(row[1]) != [True]:
                return False
            self.settled[row[2]].append(row[0])
            return True


@pytest.mark.proof
def test_claims_of_groups_keep_the_order_under_workers_that_fail(make_engine: MakeEngine, connect: Connect) -> None:
    """Each group's messages are settled in order by consumers that claim, return, and lose their leases."""
    engine = make_engine(mode="fifo", max_receives=1000)
    groups, each, workers = [f"group-{number}" for number in range(4)], 30, Workers(engine)
    for group in groups:
        for number in range(each):
            engine.send(number, group_id=group)
    working = [start(workers.work, seed, connect()) for seed in range(6)]
    try:
        until(lambda: sum(map(len, workers.settled.values())) == each * len(groups), "every message settled")
    finally:
        workers.over.set()
    for call in working:
        finish(call)
    assert workers.settled == {group: list(range(each)) for group in groups}
    assert engine.waiting() == 0
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)
