"""Message groups that share a queue, under concurrency: no claim waits, no message is overlooked, turns are kept.

Each race is written once and run with the engine, and with a naive version that is convicted.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from psycopg.types.json import Jsonb

from tests.engine import Engine
from tests.races.floors import MOVE_CLOCK, Floors
from tests.races.groups.test_lane_floors import NO_HORIZON
from tests.races.naive import NaiveVerbs
from tests.races.sessions import finish, start
from tests.tiers import examples

Connect = Callable[..., psycopg.Connection[Any]]
MakeEngine = Callable[..., Engine]
MakeFloors = Callable[..., Floors]

TAKES = "limit v_share + case when o.turn <= v_rest then 1 else 0 end"
WAITS = {f"{TAKES}\n          for update skip locked": TAKES}
PROBES = "w.place >= v_places[n]\n      order by w.place\n      limit 1"
SEES_ONLY_ITS_OWN = {PROBES: f"{PROBES}\n      for update skip locked"}
ALWAYS_NOTED = {"random() < 0.06 * coalesce((v_given ->> v_lanes[n])::integer, 0)": "v_given ? v_lanes[n]"}


@pytest.fixture
def fair(make_engine: MakeEngine) -> Engine:
    return make_engine(fair_groups=True)


def send(engine: Engine, group: str, messages: int) -> list[int]:
    rows = engine.rows(
        "select * from signalbox.send_batch(%s, array_fill('1'::jsonb, array[%s::integer]),"
        " group_ids => array_fill(%s::text, array[%s::integer]))",
        engine.queue,
        messages,
        group,
        messages,
    )
    return [row[0] for row in rows]


def begun(engine: Engine, connect: Connect) -> Engine:
    """The queue on another session that is inside a transaction and never waits long."""
    session = engine.on(connect())
    session.connection.execute("set lock_timeout = '2s'")
    session.connection.execute("begin")
    return session


def naive_share(naive: NaiveVerbs, changes: dict[str, str]) -> None:
    """Let claims share the queue in a naive way."""
    naive.install("_share_lanes", changes)
    naive.install("receive", {})


def open_claims(engines: Sequence[Engine], most: int) -> list[int]:
    """Claim on several sessions, none of which commits."""
    return [row[0] for engine in engines for row in engine.receive(most)]


def test_open_claims_of_one_group_take_past_each_other(fair: Engine, connect: Connect) -> None:
    sent = send(fair, "alone", 300)

    claimed = open_claims([begun(fair, connect) for _ in range(4)], 20)

    assert len(claimed) == len(set(claimed)) == 80
    assert set(claimed) <= set(sent)
    assert len(fair.receive(20)) == 20


def test_claims_that_do_not_skip_would_wait_for_each_other(fair: Engine, connect: Connect, naive: NaiveVerbs) -> None:
    naive_share(naive, WAITS)
    send(fair, "alone", 300)
    sessions = [begun(fair, connect) for _ in range(2)]

    with pytest.raises(psycopg.errors.LockNotAvailable):
        open_claims([naive.engine(fair, session.connection) for session in sessions], 20)


def held_for_a_while(engine: Engine, fair: Engine, connect: Connect) -> list[int]:
    """Claim while another transaction holds all messages of a group; what is left when it has rolled back."""
    send(fair, "a", 5)
    holder = begun(fair, connect)
    assert holder.value("select signalbox.purge(%s, states => '{waiting}')", fair.queue) == 5
    assert engine.receive(10) == []
    holder.connection.execute("rollback")
    return [row[0] for row in engine.receive(10)]


def test_messages_that_come_back_are_delivered(fair: Engine, connect: Connect) -> None:
    assert len(held_for_a_while(fair, fair, connect)) == 5


def test_without_a_new_wake_up_row_messages_that_come_back_would_be_overlooked(
    fair: Engine, connect: Connect, naive: NaiveVerbs
) -> None:
    naive_share(naive, SEES_ONLY_ITS_OWN)

    assert held_for_a_while(naive.engine(fair), fair, connect) == []


def test_a_claim_that_rolls_back_leaves_its_group_in_place(fair: Engine, connect: Connect) -> None:
    sent = send(fair, "a", 40)
    claimer = begun(fair, connect)
    assert len(claimer.receive(5)) == 5
    other = [row[0] for row in fair.receive(10)]
    claimer.connection.execute("rollback")

    assert sorted(other + [row[0] for _ in range(2) for row in fair.receive(40)]) == sent


def sent_slowly(engine: Engine, fair: Engine, floors: Floors, connect: Connect) -> int:
    """A place is drawn and not committed while the group goes on and is noted."""
    for _ in range(2):
        fair.send(group_id="a")
        (row,) = engine.receive(10)
        fair.ack(row[1])
        floors.tick()
    sender = begun(fair, connect)
    message_id = sender.send("slow", group_id="a")
    fair.send("quick", group_id="a")
    fair.value(MOVE_CLOCK)
    (row,) = engine.receive(10)
    assert row[3] == "quick"
    floors.tick()
    sender.connection.execute("commit")
    floors.tick()
    return message_id


@pytest.mark.parametrize("horizon", [True, False])
def test_a_note_never_hides_an_open_sender(
    fair: Engine, make_floors: MakeFloors, connect: Connect, naive: NaiveVerbs, horizon: bool
) -> None:
    floors = make_floors(fair)
    if not horizon:
        naive.install("_note_lane", NO_HORIZON)
    naive_share(naive, ALWAYS_NOTED)
    engine = naive.engine(fair)

    message_id = sent_slowly(engine, fair, floors, connect)

    assert fair.value("select count(*) > 0 from signalbox.lane_floor where queue_id = %s", fair.queue_id)
    assert [row[0] for row in engine.receive(10)] == [message_id] * horizon


class Work:
    """Workers that claim, roll back now and then, and acknowledge, until all is done."""

    def __init__(self, messages: int) -> None:
        self.messages = messages
        self.acked: list[int] = []
        self.lock = threading.Lock()

    def is_left(self) -> bool:
        with self.lock:
            return len(self.acked) < self.messages

    def do(self, seed: int, engine: Engine) -> None:
        chance = random.Random(seed)
        while self.is_left():
            engine.connection.execute("begin")
            rows = engine.receive(chance.choice([1, 5, 20]))
            if chance.random() < 0.2:
                engine.connection.execute("rollback")
                continue
            engine.connection.execute("commit")
            done = engine.ack(*(row[1] for row in rows)) if rows else []
            with self.lock:
                self.acked.extend(row[0] for row, acked in zip(rows, done, strict=True) if acked)

    def switch(self, engine: Engine) -> None:
        chance = random.Random(7)
        while self.is_left():
            given = chance.choice([{"fair_groups": False}, {"group_max_in_flight": 3}, {"group_max_in_flight": 0}])
            configure = "select signalbox.configure_queue(%s, %s)"
            engine.value(configure, engine.queue, Jsonb({"fair_groups": True, **given}))
            engine.value("select signalbox.release_lanes()")


def test_workers_deliver_each_message_once_while_the_setting_changes(fair: Engine, connect: Connect) -> None:
    sent = [
        message_id for group, size in (("large", 150), ("b", 20), ("c", 20)) for message_id in send(fair, group, size)
    ]
    work = Work(len(sent))

    calls = [start(work.do, seed, fair.on(connect())) for seed in range(4)]
    for call in [*calls, start(work.switch, fair.on(connect()))]:
        finish(call)

    assert sorted(work.acked) == sent
    assert (fair.waiting(), fair.counted(), fair.recounted()) == (0, (0,) * 5, (0,) * 5)


names = st.sampled_from(["a", "a", "b", "c", None])


class LifeOfASharedQueue(RuleBasedStateMachine):
    """Calls in any order: nothing is lost, claims come up short only when nothing is left, and turns are kept."""

    make: Callable[..., Engine]
    happened: Counter[str]

    @initialize(on=st.sampled_from([True, True, False]), most=st.integers(1, 15))
    def create(self, on: bool, most: int) -> None:
        self.engine = self.make(fair_groups=on, max_receives=2, aging_seconds=0)
        self.settings: dict[str, Any] = {"fair_groups": on, "group_max_in_flight": 0}
        self.live: set[int] = set()
        self.handles: dict[str, int] = {}
        for group, messages in (("a", 30), ("b", 5)):
            self.send_batch(group, messages)
        self.receive(most)

    @rule(group=names, messages=st.integers(1, 12), priority=st.sampled_from([0, 0, 0, 5]))
    def send(self, group: str | None, messages: int, priority: int) -> None:
        for _ in range(messages):
            self.live.add(self.engine.send(group_id=group, priority=priority))

    @rule(group=st.sampled_from("abc"), messages=st.integers(1, 30))
    def send_batch(self, group: str, messages: int) -> None:
        self.live |= set(send(self.engine, group, messages))

    @rule(most=st.integers(1, 15))
    def receive(self, most: int) -> None:
        shares = self.settings["fair_groups"] and not self.settings["group_max_in_flight"]
        ready = self._count("ready")
        before = dict(self._groups_waiting())
        claimable = ready + sum(before.values()) + self._due()

        rows = self.engine.receive(most)

        assert {row[0] for row in rows} <= self.live
        self.handles |= {row[1]: row[0] for row in rows}
        if not self.settings["group_max_in_flight"]:
            assert len(rows) == min(most, claimable)
        if shares and before and claimable == sum(before.values()) and not self._has_priorities():
            received = Counter(row[4] for row in rows)
            self.happened["turns"] += len(before) > 1
            for group, waiting in before.items():
                assert received[group] >= min(waiting, max(received.values()) - 1)

    def _due(self) -> int:
        return sum(
            int(self.engine.value(statement, self.engine.queue_id))
            for statement in (
                "select count(*) from signalbox.scheduled where queue_id = %s and due_at <= clock_timestamp()",
                "select count(*) from signalbox.lease where queue_id = %s and deadline <= clock_timestamp()",
            )
        )

    def _has_priorities(self) -> bool:
        return bool(
            self.engine.value(
                "select count(*) from signalbox.claim_floor where queue_id = %s and kind > 0", self.engine.queue_id
            )
        )

    def _groups_waiting(self) -> list[tuple[str, int]]:
        statement = "select lane, count(*) from signalbox.waiting where queue_id = %s group by lane"
        return [(row[0], row[1]) for row in self.engine.rows(statement, self.engine.queue_id)]

    def _count(self, table: str) -> int:
        return int(
            self.engine.value(f"select count(*) from signalbox.{table} where queue_id = %s", self.engine.queue_id)
        )

    @rule(most=st.integers(1, 10))
    def ack(self, most: int) -> None:
        chosen = list(self.handles)[:most]
        if chosen:
            assert all(self.engine.ack(*chosen))
            self.live -= {self.handles.pop(handle) for handle in chosen}

    @rule(delay=st.sampled_from([0, 0.000001, 3600]), rejected=st.booleans())
    def nack(self, delay: float, rejected: bool) -> None:
        if self.handles:
            handle, message_id = self.handles.popitem()
            reason = "rejected" if rejected else "runtime_error"
            if self.engine.nack(handle, delay_seconds=delay, reason=reason) == "dead":
                self.live.remove(message_id)

    @rule()
    def redrive(self) -> None:
        letters = "array(select dead_letter_id from signalbox.dead_letter where source_queue_id = %s)"
        self.live |= {
            row[1] for row in self.engine.rows(f"select * from signalbox.redrive({letters})", self.engine.queue_id)
        }

    @rule(most=st.integers(1, 10))
    def claim_in_vain(self, most: int) -> None:
        with self.engine.connection.transaction(force_rollback=True):
            self.engine.receive(most)

    @rule(given=st.sampled_from([{"fair_groups": True}, {"fair_groups": False}, {"group_max_in_flight": 2},
                                 {"group_max_in_flight": 0}]))  # fmt: skip
    def configure(self, given: dict[str, Any]) -> None:
        self.settings |= given
        self.engine.value("select signalbox.configure_queue(%s, %s)", self.engine.queue, Jsonb(given))

    @rule(step=st.sampled_from(["release_lanes", "aggregate_counters", "hint_lanes"]))
    def upkeep(self, step: str) -> None:
        self.engine.value("select signalbox.upkeep(%s)", step)

    @rule()
    def purge(self) -> None:
        gone = {row[0] for row in self.engine.rows(
            "select message_id from signalbox.waiting where queue_id = %s", self.engine.queue_id
        )}  # fmt: skip
        assert self.engine.value("select signalbox.purge(%s, states => '{waiting}')", self.engine.queue) == len(gone)
        self.live -= gone

    @invariant()
    def every_message_is_counted_where_it_is(self) -> None:
        assert self.engine.counted() == self.engine.recounted()
        assert self.engine.waiting() + sum(self.engine.recounted()[:3]) == len(self.live)

    def teardown(self) -> None:
        """Receive all that is live, once no limit holds it: no message is stranded."""
        if hasattr(self, "engine"):
            self.configure({"group_max_in_flight": 0})
            self.engine.connection.execute(
                "update signalbox.scheduled set due_at = clock_timestamp() where queue_id = %s", [self.engine.queue_id]
            )
            left = set(self.handles.values())
            while rows := self.engine.receive(100):
                left |= {row[0] for row in rows}
            assert left == self.live


@pytest.mark.property
def test_any_life_of_a_shared_queue(make_engine: MakeEngine) -> None:
    LifeOfASharedQueue.make = staticmethod(make_engine)  # type: ignore[assignment]
    LifeOfASharedQueue.happened = Counter()
    run_state_machine_as_test(
        LifeOfASharedQueue,
        settings=settings(
            max_examples=examples(24),
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        ),
    )
    assert LifeOfASharedQueue.happened["turns"]
