"""Long random lives of one queue, every verb in any order, beside a model of what must be true (invariants 1-4, 6-9).

Sessions take turns here; what they do to each other is in the other races. A failure is printed as the shortest calls
that lead to it, with handles by the names of the calls that returned them; messages are numbered as they were sent.
"""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)
from psycopg.types.json import Jsonb

from tests.engine import Engine, Row
from tests.races.model import ACKED, DEAD, EXPIRED, LEASED, LIVE, PURGED, RESTING, TAKEN, WAITING, Model
from tests.tiers import examples

STEPS = [
    "aggregate_counters",
    "return_and_promote",
    "ensure_partitions",
    "publish_log_end",
    "expire_messages",
    "record_history",
    "empty_deltas",
    "summarize_history",
    "clean_up",
    "drop_history",
    "drop_kept",
]

PLACES = """
select message_id, 'ready', receive_count from signalbox.ready where queue_id = %(queue)s
union all select message_id, 'scheduled', receive_count from signalbox.scheduled where queue_id = %(queue)s
union all select message_id, 'leased', receive_count from signalbox.lease where queue_id = %(queue)s
union all select message_id, 'dead', receive_count from signalbox.dead_letter where source_queue_id = %(queue)s
union all select m.id, 'settled ' || s.outcome::text, m.receive_count
from signalbox.settled s, unnest(s.message_ids, s.receive_counts) m(id, receive_count) where s.queue_id = %(queue)s
"""

EVENTS = """
select e.name, t.totals[e.event]
from signalbox.queue_totals(array[%s::integer]) t, signalbox.counter_event e
where coalesce(t.totals[e.event], 0) <> 0
"""

bodies = st.integers(0, 2)
priorities = st.sampled_from([0, 0, 5])
keys = st.sampled_from([None, "a", "b"])
places = st.lists(st.sampled_from([WAITING, RESTING, LEASED]), min_size=1, unique=True)
some = st.integers(0, 3)
reasons = st.sampled_from(["runtime_error", "runtime_error", "runtime_error", "rejected"])
settings_changed = st.sampled_from([{"paused": True}, {"closed": True}, {"paused": False, "closed": False}])


def has(*where: str) -> Callable[[Any], bool]:
    """Precondition: a message is in one of these places."""
    return lambda machine: bool(machine.model.at(*where))


class LifeOfAQueue(RuleBasedStateMachine):
    """Every rule calls a verb, compares its answer with the model's, and lets the model do the same."""

    connection: psycopg.Connection[Any]
    happened: Counter[str]
    """The events of all lives together."""

    names = itertools.count(1)
    receipts = Bundle("receipts")
    spent = Bundle("spent")
    """Handles that were used up; those in `receipts` may have come to nothing by themselves."""

    @initialize(
        target=receipts,
        max_receives=st.sampled_from([3, 2, 1]),
        waiting=some,
        leased=some,
        dead=some,
        holds_keys=st.booleans(),
        fair=st.booleans(),
    )
    def create(
        self, max_receives: int, waiting: int, leased: int, dead: int, holds_keys: bool, fair: bool
    ) -> MultipleResults[str]:
        """A queue in the middle of its work, so that every verb has something to do."""
        name = f"life-{uuid.uuid4().hex[:6]}-{next(self.names)}"
        settings = {"max_receives": max_receives, "aging_seconds": 0, "retention_seconds": 3600}
        settings |= {"visibility_timeout_seconds": 3600}  # only a test lets time pass
        settings |= {"fair_groups": fair}  # which messages without a group do not notice
        holds_keys = (waiting + leased + dead) % 2 == 1  # half of all lives are of each scope of deduplication
        settings |= {"dedup_scope": "in_flight" if holds_keys else "window"}
        row = self.connection.execute("select signalbox.create_queue(%s, %s)", [name, Jsonb(settings)]).fetchone()
        assert row is not None
        self.engine = Engine(self.connection, name, row[0])
        self.model = Model(max_receives, holds_keys)
        self.send_batch([(body, 0, None) for body in range(1 + waiting + leased + dead)], plain=True)
        self.send(0, priority=0, delayed=True, key=None)
        handles = self.receive(1 + leased + dead).values
        for handle in handles[1 + leased :]:
            self.nack(handle, "rejected", delayed=False)
        return multiple(*handles[: 1 + leased])

    # Sending

    @rule(body=bodies, priority=priorities, delayed=st.booleans(), key=keys)
    def send(self, body: int, priority: int, delayed: bool, key: str | None) -> None:
        delay_seconds = 3600 if delayed else 0
        self._send(
            lambda: [
                self.engine.send(body, priority=priority, delay_seconds=delay_seconds, deduplication_id=key),
            ],
            [(body, priority, key)],
            delayed=delayed,
        )

    @rule(batch=st.lists(st.tuples(bodies, priorities, keys), min_size=1, max_size=4), plain=st.booleans())
    def send_batch(self, batch: list[tuple[int, int, str | None]], plain: bool) -> None:
        if plain:  # another path through the verb
            batch = [(body, 0, None) for body, _, _ in batch]
        self._send(lambda: self._send_batch(batch, plain=plain), batch)

    def _send_batch(self, batch: list[tuple[int, int, str | None]], *, plain: bool) -> list[int]:
        bodies, priorities, keys = ([message[part] for message in batch] for part in range(3))
        statement = (
            "select id from signalbox.send_batch("
            "%s, %s::jsonb[], priorities => %s::int[], deduplication_ids => %s::text[]) id"
        )
        options = (None, None) if plain else (priorities, keys)
        return [row[0] for row in self.engine.rows(statement, self.engine.queue, list(map(Jsonb, bodies)), *options)]

    def _send(
        self, call: Callable[[], list[int]], batch: list[tuple[int, int, str | None]], *, delayed: bool = False
    ) -> None:
        if refusal := self._refusal(batch):
            with pytest.raises(psycopg.Error) as caught:
                call()
            assert caught.value.sqlstate == refusal
            return
        for message_id, (body, priority, key) in zip(call(), batch, strict=True):
            if key in self.model.keys:
                assert message_id == self.model.keys[key][0]
                self.model.counted["deduplicated"] += 1
                continue
            assert message_id not in self.model.messages
            self.model.send(message_id, body, priority, delayed=delayed)
            if key is not None:
                self.model.keys[key] = (message_id, (body, priority))
                self.model.messages[message_id].key = key

    def _refusal(self, batch: list[tuple[int, int, str | None]]) -> str | None:
        """The error that a send of these must end with, all of them."""
        if self.model.closed:
            return "SB423"
        sent = {key: request for key, (_, request) in self.model.keys.items()}
        for body, priority, key in batch:
            if key is not None and sent.setdefault(key, (body, priority)) != (body, priority):
                return "SB409"
        return None

    @precondition(lambda machine: machine.model.keys and not machine.model.holds_keys)
    @rule(body=bodies)
    def send_after_the_window(self, body: int) -> None:
        """The deduplication id is free again."""
        key = min(self.model.keys)
        self.connection.execute(
            "update signalbox.dedup set expires_at = clock_timestamp() where queue_id = %s and deduplication_id = %s",
            [self.engine.queue_id, key],
        )
        del self.model.keys[key]
        self.send(body, priority=0, delayed=False, key=key)

    # Delivery

    @precondition(lambda machine: machine.model.at(WAITING) or machine.overdue())
    @rule(target=receipts, max_messages=st.integers(1, 4))
    def receive(self, max_messages: int) -> MultipleResults[str]:
        rows = self.engine.receive(max_messages)
        if self.model.paused:
            assert rows == []
            return multiple()
        self.model.look_around()
        return self._delivered(rows, self.model.next(max_messages))

    def _delivered(self, rows: list[Row], expected: list[int]) -> MultipleResults[str]:
        for message_id, handle, *_ in rows:
            self.model.deliver(message_id, handle)
        messages = self.model.messages
        assert sorted((row[0], row[2], row[3]) for row in rows) == sorted(
            (message_id, messages[message_id].receive_count, messages[message_id].body) for message_id in expected
        )
        return multiple(*[row[1] for row in rows])

    @rule(target=spent, handles=st.lists(consumes(receipts), min_size=1, max_size=3))
    def ack(self, handles: list[str]) -> MultipleResults[str]:
        held = [self.model.holder(handle) for handle in handles]

        assert self.engine.ack(*handles) == [message_id is not None for message_id in held]

        for message_id in {message_id for message_id in held if message_id is not None}:
            self.model.move(message_id, ACKED, "acked")
        return multiple(*handles)

    @rule(target=spent, handle=consumes(receipts), reason=reasons, delayed=st.booleans())
    def nack(self, handle: str, reason: str, delayed: bool) -> str:
        message_id = self.model.holder(handle)
        answer = self.engine.nack(handle, reason=reason, delay_seconds=3600 if delayed else 0)

        assert answer == (message_id and self.model.fail(message_id, reason, delayed=delayed))
        return handle

    @rule(target=spent, handles=st.lists(consumes(receipts), min_size=1, max_size=3))
    def give_back(self, handles: list[str]) -> MultipleResults[str]:
        self.model.give_back(self._change_visibility(handles, 0))
        return multiple(*handles)

    @rule(handles=st.lists(receipts, min_size=1, max_size=3, unique=True))
    def extend(self, handles: list[str]) -> None:
        for message_id in self._change_visibility(handles, 600):
            self.model.messages[message_id].overdue = False

    def _change_visibility(self, handles: list[str], seconds: int) -> list[int]:
        """Return the messages whose handles were still valid."""
        statement = "select deadline is not null from signalbox.change_visibility_batch(%s, %s)"
        held = [self.model.holder(handle) for handle in handles]

        answers = [row[0] for row in self.engine.rows(statement, handles, seconds)]

        assert answers == [message_id is not None for message_id in held]
        return sorted(message_id for message_id in held if message_id is not None)

    @rule(handles=st.lists(spent, min_size=1, max_size=3))
    def use_spent_handles(self, handles: list[str]) -> None:
        assert not any(self.engine.ack(*handles))
        assert self.engine.nack(handles[0]) is None
        assert self._change_visibility(handles, 0) == self._change_visibility(handles, 600) == []

    # Time

    @precondition(has(LEASED))
    @rule(nth=some)
    def deadline_passes(self, nth: int) -> None:
        message_id = self._nth(nth, LEASED)
        self.connection.execute(
            "update signalbox.lease set deadline = clock_timestamp() where message_id = %s", [message_id]
        )
        self.model.messages[message_id].overdue = True

    @precondition(has(RESTING))
    @rule(nth=some)
    def delay_ends(self, nth: int) -> None:
        message_id = self._nth(nth, RESTING)
        self.connection.execute(
            "update signalbox.scheduled set due_at = clock_timestamp() where message_id = %s", [message_id]
        )
        self.model.messages[message_id].overdue = True

    @precondition(lambda machine: machine.overdue())
    @rule()
    def return_and_promote(self) -> None:
        overdue = self.overdue()

        assert self.engine.value("select signalbox.return_and_promote(array[%s])", self.engine.queue_id) == overdue

        self.model.look_around()

    def overdue(self) -> int:
        return sum(message.overdue for message in self.model.messages.values())

    @precondition(has(WAITING, DEAD))
    @rule(nth=some)
    def retention_ends(self, nth: int) -> None:
        """Id of a waiting message, or of the oldest dead letter."""
        message_id = self._nth(nth, WAITING, DEAD)
        place = self.model.messages[message_id].place
        if place == DEAD:
            message_id = min(self._letters().items(), key=lambda letter: letter[1])[0]
            past = "update signalbox.dead_letter set died_at = '2000-01-01' where message_id = %s"
        else:
            past = "update signalbox.ready set ready_at = '2000-01-01' where message_id = %s"
        self.connection.execute(past.encode(), [message_id])

        self.engine.value("select signalbox.upkeep('expire_messages')")

        self.model.move(message_id, EXPIRED, f"expired_{place}")

    # Dead letters

    @precondition(has(DEAD))
    @rule(nths=st.lists(some, min_size=1, max_size=3))
    def redrive(self, nths: list[int]) -> None:
        """Redrive dead letters, some named twice, one long gone: each moves once."""
        letters = self._letters()
        chosen = {self._nth(nth, DEAD) for nth in nths}
        named = [letters[message_id] for message_id in chosen for _ in range(2)]
        statement = "select message_id from signalbox.redrive(%s::bigint[])"
        if self.model.closed:
            with pytest.raises(psycopg.Error, match="closed"):
                self.engine.rows(statement, named)
            return

        moved = sorted(row[0] for row in self.engine.rows(statement, [*named, 0]))

        assert moved == sorted(self.model.may_be_redriven(sorted(chosen, key=letters.__getitem__)))
        self.model.redrive(moved)

    @precondition(has(DEAD))
    @rule(nths=st.lists(some, min_size=1, max_size=3))
    def delete_dead_letters(self, nths: list[int]) -> None:
        letters = self._letters()
        chosen = {self._nth(nth, DEAD) for nth in nths}
        named = [letters[message_id] for message_id in chosen for _ in range(2)]

        assert self.engine.value("select signalbox.delete_dead_letters(%s)", [*named, 0]) == len(chosen)

        for message_id in chosen:
            self.model.move(message_id, PURGED, "purged_dead")

    @precondition(has(DEAD))
    @rule(max_messages=st.integers(1, 3))
    def receive_dead_letters(self, max_messages: int) -> None:
        """A consumer of the dead-letter queue takes the oldest, as new messages of that queue."""
        letters = self._letters()
        oldest = sorted(letters, key=lambda message_id: letters[message_id])[:max_messages]
        statement = (
            "select (attributes -> 'dead_letter' ->> 'message_id')::bigint, receipt_handle, receive_count, payload"
            " from signalbox.receive(%s, %s)"
        )
        rows = self.engine.rows(statement, f"{self.engine.queue}-dlq", max_messages)

        bodies = {message_id: self.model.messages[message_id].body for message_id in oldest}
        assert {row[0]: (row[2], row[3]) for row in rows} == {m: (1, body) for m, body in bodies.items()}
        assert all(self.engine.ack(*[row[1] for row in rows]))
        for message_id in oldest:
            self.model.move(message_id, TAKEN, "dead_received")

    # Operation

    @precondition(lambda machine: len(machine.model.at(*LIVE)) > 4)
    @rule(states=places, step=st.integers(1, 3))
    def purge(self, states: list[str], step: int) -> None:
        self._purge(self.engine.queue, states, step)

    @precondition(has(DEAD))
    @rule(step=st.integers(1, 3))
    def purge_dead_letters(self, step: int) -> None:
        self._purge(f"{self.engine.queue}-dlq", [DEAD], step)

    def _purge(self, queue: str, states: list[str], step: int) -> None:
        statement = "select signalbox.purge(%s, null, %s, %s)"
        purged = list(iter(lambda: self.engine.value(statement, queue, states, step), 0))

        chosen = self.model.at(*states)
        full, rest = divmod(len(chosen), step)
        assert purged == [step] * full + [rest] * (rest > 0)
        for message_id in chosen:
            self.model.move(message_id, PURGED, f"purged_{self.model.messages[message_id].place}")

    @rule(changes=settings_changed)
    def configure(self, changes: dict[str, bool]) -> None:
        self.engine.value("select signalbox.configure_queue(%s, %s)", self.engine.queue, Jsonb(changes))
        self.model.paused = changes.get("paused", self.model.paused)
        self.model.closed = changes.get("closed", self.model.closed)

    @rule(step=st.sampled_from(STEPS))
    def upkeep(self, step: str) -> None:
        assert self.engine.value("select signalbox.upkeep(%s)", step).startswith(f"{step}: ")
        if step == "return_and_promote":
            self.model.look_around()
        elif step == "drop_kept":  # another chore of once an hour
            self.engine.value("select signalbox.upkeep('drop_lost_keys')")

    @rule(max_messages=st.integers(1, 4), rejected=st.booleans())
    def in_vain(self, max_messages: int, rejected: bool) -> None:
        """A transaction that does a bit of everything and is rolled back leaves nothing."""
        with self.connection.transaction(force_rollback=True):
            if not self.model.closed:
                self.engine.send("in vain", deduplication_id="in vain")
            handles = [row[1] for row in self.engine.receive(max_messages)]
            if handles:
                self.engine.nack(handles[0], reason="rejected" if rejected else "runtime_error", delay_seconds=0)
            self.engine.ack(*handles)
            self.engine.value("select signalbox.purge(%s, null, '{ready,scheduled,leased}')", self.engine.queue)

    @precondition(lambda machine: len(machine.model.at(*LIVE)) > 6)
    @rule()
    def drain(self) -> None:
        """Deliver all overdue and waiting messages, each once, and ack them: nothing is lost on the way."""
        self.configure({"paused": False})
        for nth in range(self.model.depth(RESTING)):
            self.delay_ends(nth)
        while rows := self.engine.receive(5):
            self.model.look_around()
            self._delivered(rows, self.model.next(5))
            self.ack([row[1] for row in rows])
        self.model.look_around()
        assert self.model.at(WAITING, RESTING) == []

    # What must be true after every call

    @invariant()
    def every_message_is_in_one_place(self) -> None:
        """Compare a message with the model, deliveries included."""
        messages = self.model.messages
        number = {message_id: index for index, message_id in enumerate(messages, 1)}
        rows = self.connection.execute(PLACES, {"queue": self.engine.queue_id}).fetchall()
        found = sorted((number.get(row[0], "never sent"), row[1], row[2]) for row in rows)

        assert found == [
            (number[message_id], message.place, message.receive_count)
            for message_id, message in messages.items()
            if message.place != TAKEN
        ]

    @invariant()
    def counters_are_exact(self) -> None:
        depths = tuple(self.model.depth(place) for place in LIVE)
        assert self.engine.counted() == self.engine.recounted() == (*depths, 0)
        assert dict(self.engine.rows(EVENTS, self.engine.queue_id)) == +self.model.counted

    @invariant()
    def ids_are_held_by_live_messages(self) -> None:
        held = self.engine.rows(
            "select deduplication_id, message_id from signalbox.dedup_in_flight where queue_id = %s",
            self.engine.queue_id,
        )
        expected = {key: message_id for key, (message_id, _) in self.model.keys.items()}
        assert dict(held) == (expected if self.model.holds_keys else {})

    @invariant()
    def dead_letters_are_held(self) -> None:
        held = self.engine.rows(
            "select signalbox.depth(t.totals, 'held') from signalbox.queue q,"
            " signalbox.queue_totals(array[q.queue_id]) t where q.name = %s",
            f"{self.engine.queue}-dlq",
        )
        assert held == ([(self.model.depth(DEAD),)] if held else [])

    def teardown(self) -> None:
        self.happened.update(self.model.counted)

    def _letters(self) -> dict[int, int]:
        """The dead letter of every dead message."""
        rows = self.engine.rows(
            "select message_id, dead_letter_id from signalbox.dead_letter where source_queue_id = %s",
            self.engine.queue_id,
        )
        return dict(rows)

    def _nth(self, nth: int, *where: str) -> int:
        found = self.model.at(*where)
        return found[nth % len(found)]


MOST_EVENTS = 30_000

EVERYTHING = {
    "published",
    "published_scheduled",
    "deduplicated",
    "delivered",
    "redelivered",
    "acked",
    "nacked_ready",
    "nacked_scheduled",
    "returned",
    "lease_expired",
    "promoted",
    "dead_rejected",
    "dead_runtime_error",
    "dead_lock_expired",
    "dead_received",
    "redriven",
    "redriven_in",
    "purged_ready",
    "purged_scheduled",
    "purged_leased",
    "purged_dead",
    "expired_ready",
    "expired_dead",
}


@pytest.mark.property
@pytest.mark.timeout(900)
def test_every_verb_in_any_order_agrees_with_the_model(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hypothesis.internal.conjecture.engine.MAX_SHRINKING_SECONDS", 30)  # short enough, and in time
    LifeOfAQueue.connection, LifeOfAQueue.happened = engine.connection, Counter()
    engine.connection.execute("set synchronous_commit = off")  # no crash happens here, and every step is a commit

    always = settings(
        max_examples=examples(80),
        stateful_step_count=40,
        derandomize=True,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    run_state_machine_as_test(LifeOfAQueue, settings=always)
    # What is tried hangs on what the clock allows as well: on a slow machine a rare verb may need some more tries.
    more = settings(always, max_examples=examples(40), derandomize=False)
    while not LifeOfAQueue.happened.keys() >= EVERYTHING and LifeOfAQueue.happened.total() < MOST_EVENTS:
        run_state_machine_as_test(LifeOfAQueue, settings=more)

    assert LifeOfAQueue.happened.keys() >= EVERYTHING, "some verbs never had anything to do"
