"""The engine's promises, checked after storms of every verb at once (invariants 1-4, 6-9 and 11).

A storm is a few threads, each drawing verbs by a seed of its own, while counters are aggregated and emptied and the
floors move. The answers to the threads are compared with the tables at the end.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from queues.upkeep import claim_floors
from queues.upkeep.claim_floors import FloorKeeper
from tests.engine import Engine
from tests.races.sessions import finish, start, until

Connect = Callable[..., psycopg.Connection[Any]]

PLACES = """
select 'ready', message_id from signalbox.ready where queue_id = %(queue)s
union all select 'scheduled', message_id from signalbox.scheduled where queue_id = %(queue)s
union all select 'leased', message_id from signalbox.lease where queue_id = %(queue)s
union all select 'dead', message_id from signalbox.dead_letter where source_queue_id = %(queue)s
union all select 'settled ' || outcome::text, unnest(message_ids) from signalbox.settled where queue_id = %(queue)s
"""


@dataclass
class Ledger:
    """Answers that the threads of a storm got, shared by all of them."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    sent: set[int] = field(default_factory=set)
    acked: set[int] = field(default_factory=set)
    deliveries: Counter[int] = field(default_factory=Counter)
    handles: list[str] = field(default_factory=list)
    spent: list[str] = field(default_factory=list)
    """Handles that were acked, nacked or returned: they can no longer be used."""
    wrong: list[str] = field(default_factory=list)

    def take_handles(self, draw: random.Random, most: int) -> list[str]:
        with self.lock:
            draw.shuffle(self.handles)
            taken, self.handles = self.handles[:most], self.handles[most:]
        return taken


@dataclass
class Stormer:
    """One thread: draws a verb, calls it, and notes the answer."""

    engine: Engine
    ledger: Ledger
    draw: random.Random

    def run(self, steps: int) -> None:
        verbs = [
            (6, self.send),
            (2, self.send_batch),
            (2, self.send_in_vain),
            (1, self.send_twice),
            (8, self.receive),
            (1, self.receive_in_vain),
            (6, self.ack),
            (4, self.nack),
            (2, self.extend_or_give_back),
            (1, self.use_spent_handles),
            (1, self.purge),
            (2, self.redrive),
            (1, self.delete),
            (1, self.return_and_promote),
        ]
        weights = [weight for weight, _ in verbs]
        for _ in range(steps):
            self.draw.choices(verbs, weights)[0][1]()

    def send(self) -> None:
        delay = self.draw.choice([0, 0, 0.001])
        self.note_sent(self.engine.send(1, priority=self.draw.choice([0, 0, 3, 9]), delay_seconds=delay))

    def send_batch(self) -> None:
        statement = "select id from signalbox.send_batch(%s, array_fill('1'::jsonb, array[%s])) id"
        self.note_sent(*[row[0] for row in self.engine.rows(statement, self.engine.queue, self.draw.randint(1, 20))])

    def send_in_vain(self) -> None:
        with self.engine.connection.transaction(force_rollback=True):
            self.engine.send("in vain")

    def send_twice(self) -> None:
        key = str(self.draw.randint(1, 3))
        ids = {self.engine.send(key, deduplication_id=key) for _ in range(2)}
        if len(ids) != 1:
            self.ledger.wrong.append(f"one deduplication id made two messages: {ids}")
        self.note_sent(*ids)

    def receive(self) -> None:
        with self.ledger.lock:
            acked_before = set(self.ledger.acked)
        rows = self.engine.receive(self.draw.randint(1, 15), visibility_timeout=self.draw.choice([0, 0.005, 30]))
        with self.ledger.lock:
            self.ledger.deliveries.update(row[0] for row in rows)
            self.ledger.handles += [row[1] for row in rows]
        if again := acked_before & {row[0] for row in rows}:
            self.ledger.wrong.append(f"delivered after their acks: {again}")

    def receive_in_vain(self) -> None:
        with self.engine.connection.transaction(force_rollback=True):
            self.engine.receive(5)

    def ack(self) -> None:
        handles = self.ledger.take_handles(self.draw, 10)
        answers = self.engine.ack(*handles)
        done = {int(handle.split(".")[1]) for handle, acked in zip(handles, answers, strict=True) if acked}
        with self.ledger.lock:
            if again := done & self.ledger.acked:
                self.ledger.wrong.append(f"acked twice: {again}")
            self.ledger.acked |= done
            self.ledger.spent += handles

    def nack(self) -> None:
        for handle in self.ledger.take_handles(self.draw, 3):
            reason = self.draw.choice(["runtime_error", "runtime_error", "rejected"])
            self.engine.nack(handle, delay_seconds=self.draw.choice([0, 0.001]), reason=reason)
            self.ledger.spent.append(handle)

    def extend_or_give_back(self) -> None:
        handles = self.ledger.take_handles(self.draw, 5)
        seconds = self.draw.choice([0, 30])
        self.engine.rows("select * from signalbox.change_visibility_batch(%s, %s)", handles, seconds)
        (self.ledger.handles if seconds else self.ledger.spent).extend(handles)

    def use_spent_handles(self) -> None:
        with self.ledger.lock:
            handles = self.draw.sample(self.ledger.spent, min(5, len(self.ledger.spent)))
        if any(self.engine.ack(*handles)):
            self.ledger.wrong.append("a spent handle acked")

    def purge(self) -> None:
        states = self.draw.choice([["ready"], ["scheduled"], ["leased"]])
        self.engine.value("select signalbox.purge(%s, null, %s, 3)", self.engine.queue, states)

    def redrive(self) -> None:
        self.engine.rows("select * from signalbox.redrive(%s)", self.some_letters(10))

    def delete(self) -> None:
        self.engine.value("select signalbox.delete_dead_letters(%s)", self.some_letters(2))

    def return_and_promote(self) -> None:
        self.engine.value("select signalbox.return_and_promote(array[%s])", self.engine.queue_id)

    def some_letters(self, most: int) -> list[int]:
        letters = (
            "select dead_letter_id from signalbox.dead_letter where source_queue_id = %s order by random() limit %s"
        )
        return [row[0] for row in self.engine.rows(letters, self.engine.queue_id, most)]

    def note_sent(self, *ids: int) -> None:
        with self.ledger.lock:
            self.ledger.sent.update(ids)


@pytest.fixture
def quick_slots(connect: Connect) -> Iterator[psycopg.Connection[Any]]:
    """The ring of counters turns once a second instead of once a minute, and `quick.empty_deltas` follows it."""
    connection = connect()
    (default, emptying) = connection.execute(
        "select pg_get_expr(adbin, adrelid), pg_get_functiondef('signalbox.empty_deltas'::regproc) from pg_attrdef"
        " where adrelid = 'signalbox.counter_delta'::regclass and adnum = 1"
    ).fetchone() or ("", "")
    connection.execute("create schema quick")
    for words, others in (
        ("FUNCTION signalbox.", "FUNCTION quick."),
        ("::bigint / 60 % 4", "::bigint % 4"),
        ("interval '60 seconds'", "interval '0.5 second'"),
    ):
        assert words in emptying
        emptying = emptying.replace(words, others)
    connection.execute(emptying)
    slot = "alter table signalbox.counter_delta alter column slot set default "
    assert "/ 60" in default
    connection.execute(f"{slot} {default.replace('/ 60', '/ 1')}")
    yield connection
    connection.execute(f"{slot} {default}")
    connection.execute("drop schema quick cascade")


def until_over(over: threading.Event, step: Callable[[], Any]) -> int:
    """Do a step again and again until the storm is over; the sum of what it answered."""
    total = 0
    while not over.is_set():
        total += step() or 0
    return total


def keep_house(connection: psycopg.Connection[Any], queue_id: int) -> int:
    """Do upkeep during a storm; return the number of emptied counter slots."""
    connection.execute("select signalbox.aggregate_counters()")
    row = connection.execute("select quick.empty_deltas()").fetchone()
    assert row is not None
    return int(row[0])


def compare_in_one_snapshot(connection: psycopg.Connection[Any], engine: Engine) -> int:
    """Counters equal a recount at any moment, as long as both are of the same one; 1 when they do not."""
    reader = engine.on(connection)
    connection.execute("begin isolation level repeatable read")
    connection.execute("lock table signalbox.counter_delta in access share mode")  # before the snapshot is taken
    differ = reader.counted() != reader.recounted()
    connection.execute("commit")
    return int(differ)


@pytest.mark.timeout(900)
def test_every_promise_holds_after_a_storm_of_all_verbs(
    make_engine: Callable[..., Engine],
    connect: Connect,
    quick_slots: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = make_engine(max_receives=3)
    ledger, over = Ledger(), threading.Event()
    emptied: list[int] = []
    for name in ("PATIENCE_SECONDS", "GROUP_PATIENCE_SECONDS"):
        monkeypatch.setattr(claim_floors, name, 0.2)
    keeper = FloorKeeper(connect())
    keeper.connection.execute("update signalbox.upkeep_leader set expires_at = '-infinity'")
    reader = connect()
    ticks = iter(range(10**9))
    beside = [
        start(until_over, over, lambda: emptied.append(keep_house(quick_slots, engine.queue_id))),
        start(until_over, over, lambda: compare_in_one_snapshot(reader, engine)),
        start(until_over, over, lambda: keeper.tick(next(ticks) / 10, [engine.queue_id]) and 0),
    ]
    stormers = [Stormer(engine.on(connect()), ledger, random.Random(seed)) for seed in range(4)]

    def storm(stormer: Stormer) -> None:
        stormer.run(300)
        until(lambda: stormer.run(10) or any(emptied), "an emptied slot of counters")

    for call in [start(storm, stormer) for stormer in stormers]:
        finish(call)
    over.set()
    _, differed, _ = [finish(future) for future in beside]

    assert ledger.wrong == []
    assert differed == 0
    assert engine.counted() == engine.recounted()
    engine.value("select signalbox.aggregate_counters()")
    assert engine.counted() == engine.recounted()
    check_places(engine, ledger)
    drain(engine, keeper, ledger)
    keeper.resign()


def check_places(engine: Engine, ledger: Ledger) -> None:
    """Every message that was sent is in exactly one place, and nothing else is anywhere."""
    rows = engine.connection.execute(PLACES, {"queue": engine.queue_id}).fetchall()
    places = Counter(row[1] for row in rows)
    assert places.keys() == ledger.sent
    assert [message_id for message_id, count in places.items() if count != 1] == []
    assert {row[1] for row in rows if row[0] == "settled a"} == ledger.acked


def drain(engine: Engine, keeper: FloorKeeper, ledger: Ledger) -> None:
    """All waiting messages arrive: no claim floor has passed them."""
    keeper.tick(1e9, [engine.queue_id])
    assert keeper.sweep() == 0
    engine.rows(
        "update signalbox.lease set deadline = clock_timestamp() where queue_id = %s returning 1", engine.queue_id
    )

    def empty() -> bool:
        rows = engine.receive(100)
        engine.ack(*[row[1] for row in rows])
        ledger.acked.update(row[0] for row in rows)
        return engine.recounted()[:3] == (0, 0, 0)

    until(empty, "an empty queue")
    check_places(engine, ledger)


def work_until_empty(engine: Engine, connect: Connect, ledger: Ledger, pids: dict[int, int], me: int) -> None:
    """A worker that takes up its work again with a new session when its own was killed."""
    worker = None
    while len(ledger.acked) < len(ledger.sent):
        try:
            if worker is None or worker.connection.closed:
                worker = engine.on(connect())
                pids[me] = worker.connection.info.backend_pid
            rows = worker.receive(5, visibility_timeout=0.3)
            with ledger.lock:
                ledger.deliveries.update(row[0] for row in rows)
            handles = [row[1] for row in rows]
            answers = worker.ack(*handles)
            with ledger.lock:
                ledger.acked.update(row[0] for row, acked in zip(rows, answers, strict=True) if acked)
                missing = ledger.sent - ledger.acked
            known = settled(worker, missing)  # an ack whose session died before it answered may have been committed
            with ledger.lock:
                ledger.acked.update(known)
        except (psycopg.OperationalError, psycopg.InterfaceError):
            worker = None


def settled(engine: Engine, ids: set[int]) -> list[int]:
    rows = engine.rows(
        "select m from signalbox.settled s, unnest(s.message_ids) m where s.queue_id = %s and m = any(%s)",
        engine.queue_id,
        list(ids),
    )
    return [row[0] for row in rows]


@pytest.mark.timeout(900)
def test_killed_sessions_lose_no_message_and_deliver_none_after_its_ack(
    make_engine: Callable[..., Engine], dsn: str, connect: Connect
) -> None:
    """Eight workers, and someone who ends their sessions; deliveries are counted as the database knows them."""
    engine = make_engine(max_receives=1000)
    ledger = Ledger()
    ids = engine.rows(
        "select id from signalbox.send_batch(%s, array_fill('1'::jsonb, array[%s])) id", engine.queue, 800
    )
    ledger.sent = {row[0] for row in ids}
    pids: dict[int, int] = {}

    def open_session(**options: Any) -> psycopg.Connection[Any]:
        return psycopg.connect(dsn, autocommit=True, **options)

    workers = [start(work_until_empty, engine, open_session, ledger, pids, me) for me in range(8)]
    killer, draw = connect(), random.Random(5)
    kills = 0
    for progress in range(0, 800, 10):
        until(lambda progress=progress: len(ledger.acked) > progress, f"ack number {progress + 1}")
        pid = draw.choice(list(pids.values()))
        (killed,) = killer.execute("select pg_terminate_backend(%s, 60000)", [pid]).fetchone() or (False,)
        kills += killed
    for worker in workers:
        finish(worker)

    assert kills > 0
    rows = engine.rows(
        "select m.id, m.deliveries from signalbox.settled s, unnest(s.message_ids, s.receive_counts) m(id, deliveries)"
        " where s.queue_id = %s",
        engine.queue_id,
    )
    assert Counter(row[0] for row in rows) == Counter(ledger.sent)
    counts = dict(rows)
    assert all(counts[message_id] >= seen for message_id, seen in ledger.deliveries.items())
    delivered, acked = engine.rows(
        "select totals[3], totals[5] from signalbox.queue_totals(array[%s])", engine.queue_id
    )[0]
    assert (delivered, acked) == (sum(counts.values()), len(ledger.sent))
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


def test_no_two_receivers_get_the_same_delivery(engine: Engine, connect: Connect) -> None:
    engine.value("select count(*) from signalbox.send_batch(%s, array_fill('1'::jsonb, array[2000]))", engine.queue)

    def receive_all(receiver: Engine) -> list[int]:
        received = []
        while rows := receiver.receive(7, visibility_timeout=3600):
            received += [row[0] for row in rows]
        return received

    calls = [start(receive_all, engine.on(connect())) for _ in range(8)]
    received = [message_id for call in calls for message_id in finish(call)]
    while rows := engine.receive(100, visibility_timeout=3600):  # what others held for a moment when the last looked
        received += [row[0] for row in rows]

    assert len(received) == len(set(received)) == 2000
    assert engine.counted() == engine.recounted() == (0, 0, 2000, 0, 0)
