"""Every order in which the statements of two or three short transactions can come (invariants 1-4 and 9).

Each order is played by real sessions. A waiting statement goes on when the session that blocks it has ended, as in
life; the rest of the order is played in between. What must be true is asked when all have ended, not of each order
by itself: nothing here knows who ought to win.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from itertools import combinations_with_replacement, product
from math import factorial
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.sessions import blockers, finish, start, until

Connect = Callable[..., psycopg.Connection[Any]]

PLACES = """
select message_id, 'ready', receive_count from signalbox.ready where queue_id = %(queue)s
union all select message_id, 'scheduled', receive_count from signalbox.scheduled where queue_id = %(queue)s
union all select message_id, 'leased', receive_count from signalbox.lease where queue_id = %(queue)s
union all select message_id, 'dead', receive_count from signalbox.dead_letter where source_queue_id = %(queue)s
union all select m.id, 'settled ' || s.outcome::text, m.receive_count
from signalbox.settled s, unnest(s.message_ids, s.receive_counts) m(id, receive_count) where s.queue_id = %(queue)s
"""


@dataclass
class Deed:
    """A verb that was called: when, and for each handle whether it was worth something."""

    verb: str
    moment: int
    answers: dict[str, bool]


@dataclass
class Actor:
    """A session with one transaction: its verbs, and how it ends."""

    session: Engine
    verbs: tuple[str, ...]
    ends: str
    deeds: list[Deed] = field(default_factory=list)
    ended: int = -1
    waiting: Future[None] | None = None
    waiting_since: int = -1
    """Number of ended sessions at its last wait: verbs of other sessions do not free it."""
    postponed: list[Callable[[], None]] = field(default_factory=list)

    @property
    def committed(self) -> bool:
        return self.ends == "commit"


class Story:
    """Three messages: one whose lease is past its deadline, one in good hands, one that waits."""

    def __init__(self, engine: Engine, observer: psycopg.Connection[Any], actors: list[Actor]) -> None:
        self.engine, self.observer, self.actors = engine, observer, actors
        self.ids = [row[0] for row in engine.rows("select signalbox.send_batch(%s, '{1,2,3}')", engine.queue)]
        self.handles = [row[1] for row in engine.receive(2)]
        engine.connection.execute(
            "update signalbox.lease set deadline = clock_timestamp() where message_id = %s", [self.ids[0]]
        )
        self.waits = 0
        self.ends = 0

    def play(self, order: tuple[int, ...]) -> None:
        """The order names, step by step, whose turn it is; the last step of each ends its transaction."""
        turns = Counter[int]()
        for actor in self.actors:
            actor.session.connection.execute("begin")
        for moment, number in enumerate(order):
            actor = self.actors[number]
            turn = turns[number]
            turns[number] += 1
            actor.postponed.append(lambda actor=actor, turn=turn, moment=moment: self.step(actor, turn, moment))
            self.go_on()
        assert all(actor.waiting is None and not actor.postponed for actor in self.actors)

    def go_on(self) -> None:
        """Let every session do its next step, except those that wait."""
        before = -1
        while before != (before := sum(len(actor.postponed) + bool(actor.waiting) for actor in self.actors)):
            for actor in self.actors:
                while not self.waits_still(actor) and actor.postponed:
                    actor.postponed.pop(0)()

    def waits_still(self, actor: Actor) -> bool:
        if actor.waiting is None:
            return False
        if actor.waiting_since == self.ends:
            return True
        call, pid = actor.waiting, actor.session.connection.info.backend_pid
        wait([call], 0.005)
        until(lambda: call.done() or blockers(self.observer, pid), f"the end of {actor.verbs}, or a wait")
        if not call.done():
            actor.waiting_since = self.ends
            return True
        actor.waiting, actor.waiting_since = None, -1
        finish(call)
        return False

    def step(self, actor: Actor, turn: int, moment: int) -> None:
        if turn == len(actor.verbs):
            actor.session.connection.execute(actor.ends.encode())
            actor.ended = moment
            self.ends += 1
            return
        actor.waiting = start(self.act, actor, actor.verbs[turn], moment)
        self.waits += self.waits_still(actor)

    def act(self, actor: Actor, verb: str, moment: int) -> None:
        actor.deeds.append(Deed(verb, moment, getattr(self, verb.replace(" ", "_"))(actor)))

    # The verbs

    def receive(self, actor: Actor) -> dict[str, bool]:
        return {row[1]: True for row in actor.session.receive(10)}

    def receive_one(self, actor: Actor) -> dict[str, bool]:
        return {row[1]: True for row in actor.session.receive(1)}

    def ack(self, actor: Actor) -> dict[str, bool]:
        return dict(zip(self.handles, actor.session.ack(*self.handles), strict=True))

    def ack_own(self, actor: Actor) -> dict[str, bool]:
        handles = [handle for deed in actor.deeds for handle in deed.answers]
        return dict(zip(handles, actor.session.ack(*handles), strict=True))

    def receive_for_ack(self, actor: Actor) -> dict[str, bool]:
        """Acknowledge what is in good hands, and receive, in one call."""
        deed = Deed("ack", -1, {})  # its time does not matter
        rows = actor.session.receive(10, acknowledge=self.handles)
        refused = {row[1] for row in rows if row[0] is None}
        deed.answers = {handle: handle not in refused for handle in self.handles}
        actor.deeds.append(deed)
        return {row[1]: True for row in rows if row[0] is not None}

    def nack(self, actor: Actor) -> dict[str, bool]:
        return {self.handles[0]: actor.session.nack(self.handles[0], delay_seconds=0) is not None}

    def extend(self, actor: Actor) -> dict[str, bool]:
        return self._change_visibility(actor, 600)

    def give_back(self, actor: Actor) -> dict[str, bool]:
        return self._change_visibility(actor, 0)

    def _change_visibility(self, actor: Actor, seconds: int) -> dict[str, bool]:
        statement = "select receipt_handle, deadline is not null from signalbox.change_visibility_batch(%s, %s)"
        return dict(actor.session.rows(statement, self.handles[::-1], seconds))

    def expire(self, actor: Actor) -> dict[str, bool]:
        actor.session.value("select signalbox.return_and_promote(array[%s])", actor.session.queue_id)
        return {}

    def purge(self, actor: Actor) -> dict[str, bool]:
        actor.session.value("select signalbox.purge(%s, null, '{ready,leased}')", actor.session.queue)
        return {}

    # What must be true at the end

    def check(self) -> None:
        places = self.places()
        deliveries = self.deliveries()
        assert {message_id: count for message_id, (_, count) in places.items()} == {
            message_id: len(deliveries[message_id]) for message_id in self.ids
        }
        self.check_handles(places)
        self.check_acks(places)
        assert self.engine.counted() == self.engine.recounted()
        self.check_that_all_arrive(places)

    def places(self) -> dict[int, tuple[str, int]]:
        """Place of every message; each is in one place."""
        rows = [
            row
            for row in self.engine.connection.execute(PLACES, {"queue": self.engine.queue_id}).fetchall()
            if row[0] in self.ids
        ]
        assert sorted(row[0] for row in rows) == self.ids
        return {row[0]: (row[1], row[2]) for row in rows}

    def deliveries(self) -> dict[int, list[str]]:
        """The handles of every message that were given out and committed."""
        handles = [*self.handles, *(handle for deed in self.committed("receive") for handle in deed.answers)]
        found: dict[int, list[str]] = {message_id: [] for message_id in self.ids}
        for handle in handles:
            found[message_of(handle)].append(handle)
        return found

    def check_handles(self, places: dict[int, tuple[str, int]]) -> None:
        """Actions on a handle happened once, and a refused handle holds nothing."""
        fates = Counter(
            handle
            for verb in ("ack", "nack", "give back")
            for deed in self.committed(verb)
            for handle, done in deed.answers.items()
            if done
        )
        expired = self.engine.rows(
            "select message_id, receive_count from signalbox.failure where message_id = any(%s)"
            " and reason = 'lock_expired'",
            self.ids,
        )
        extended = {
            handle for deed in self.committed("extend") for handle, done in deed.answers.items() if done
        } - fates.keys()
        deliveries = self.deliveries()
        for message_id, count in expired:
            handle = deliveries[message_id][count - 1]
            fates[handle] += 1
            assert handle not in extended, "extended, and expired"
        assert [handle for handle, times in fates.items() if times > 1] == []

        held = {row[0] for row in self.engine.rows(HELD, self.engine.queue_id)}
        assert {handle for handle in held if message_of(handle) in self.ids} == {
            deliveries[message_id][-1] for message_id, (place, _) in places.items() if place == "leased"
        }
        assert not held & {
            handle for deed in self.committed("") for handle, done in deed.answers.items() if not done
        }, "refused, and still held"

    def check_acks(self, places: dict[int, tuple[str, int]]) -> None:
        """A committed ack is final: later claims do not see the message, and no session settles it again."""
        acked = {
            message_of(handle): actor.ended
            for actor in self.actors
            if actor.committed
            for deed in actor.deeds
            if deed.verb.startswith("ack")
            for handle, done in deed.answers.items()
            if done
        }
        assert acked.keys() == {message_id for message_id, (place, _) in places.items() if place == "settled a"}
        for actor in self.actors:
            for deed in actor.deeds:
                if deed.verb.startswith("receive"):
                    assert all(acked.get(message_of(handle), deed.moment) >= deed.moment for handle in deed.answers)

    def check_that_all_arrive(self, places: dict[int, tuple[str, int]]) -> None:
        live = sorted(message_id for message_id, (place, _) in places.items() if not place.startswith("settled"))
        self.engine.connection.execute(
            "update signalbox.lease set deadline = clock_timestamp() where queue_id = %s", [self.engine.queue_id]
        )
        rows = self.engine.receive(10)
        assert sorted(row[0] for row in rows) == live
        assert all(self.engine.ack(*[row[1] for row in rows]))

    def committed(self, verb: str) -> Iterator[Deed]:
        for actor in self.actors:
            if actor.committed:
                yield from (deed for deed in actor.deeds if deed.verb.startswith(verb))


HELD = "select queue_id || '.' || message_id || '.' || nonce from signalbox.lease where queue_id = %s"


def message_of(handle: str) -> int:
    return int(handle.split(".")[1])


def orders(steps: list[int]) -> list[tuple[int, ...]]:
    """All interleavings of these numbers of steps, each session's steps in order."""
    if not any(steps):
        return [()]
    found = []
    for number, left in enumerate(steps):
        if left:
            fewer = [count - (other == number) for other, count in enumerate(steps)]
            found += [(number, *rest) for rest in orders(fewer)]
    return found


def play_all(
    engine: Engine,
    connect: Connect,
    observer: psycopg.Connection[Any],
    transactions: tuple[tuple[str, ...], ...],
    endings: list[tuple[str, ...]],
) -> tuple[int, int]:
    """Return the number of played orders, and of those in which a session had to wait."""
    sessions = [engine.on(connect()) for _ in transactions]
    for session in (engine, *sessions):
        session.connection.execute("set synchronous_commit = off")  # no crash happens here, and there are many commits
    told = waited = 0
    for ends in endings:
        for order in orders([len(verbs) + 1 for verbs in transactions]):
            if told % 8 == 0:
                engine.value("select signalbox.aggregate_counters()")  # what is counted stays quick to add up
            actors = [Actor(*parts) for parts in zip(sessions, transactions, ends, strict=True)]
            story = Story(engine, observer, actors)
            try:
                story.play(order)
                story.check()
            except BaseException as error:
                error.add_note(f"order {order} of {transactions}, ending in {ends}: {[a.deeds for a in actors]}")
                raise
            told += 1
            waited += story.waits > 0
    return told, waited


VERBS = ["receive", "receive one", "receive for ack", "ack", "nack", "give back", "extend", "expire", "purge"]
LEASE_TAKERS = {"ack", "nack", "give back", "extend"}
"""Verbs that wait for the holder of a lease; the others skip it."""

PAIRS = [((first,), (second,)) for first, second in combinations_with_replacement(VERBS, 2)]
PAIRS += [(("receive", "ack own"), (other,)) for other in VERBS]

TRIPLES = [
    (("receive",), ("ack",), ("expire",)),
    (("receive",), ("nack",), ("expire",)),
    (("ack",), ("nack",), ("expire",)),
    (("receive one",), ("receive",), ("ack",)),
    (("extend",), ("ack",), ("expire",)),
    (("receive for ack",), ("nack",), ("expire",)),
]


def names(transactions: tuple[tuple[str, ...], ...]) -> str:
    return " | ".join(" + ".join(verbs) for verbs in transactions)


@pytest.mark.parametrize("transactions", PAIRS, ids=names)
def test_two_transactions_in_every_order(
    engine: Engine,
    connect: Connect,
    observer: psycopg.Connection[Any],
    transactions: tuple[tuple[str, ...], tuple[str, ...]],
) -> None:
    endings = list(product(["commit", "rollback"], repeat=2))

    told, waited = play_all(engine, connect, observer, transactions, endings)

    assert told == len(endings) * (10 if len(transactions[0]) == 2 else 6)
    if set(transactions[0] + transactions[1]) <= LEASE_TAKERS:
        assert waited > 0


@pytest.mark.timeout(900)
@pytest.mark.parametrize("transactions", TRIPLES, ids=names)
@pytest.mark.proof
def test_three_transactions_in_every_order(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any], transactions: tuple[tuple[str, ...], ...]
) -> None:
    told, waited = play_all(engine, connect, observer, transactions, [("commit",) * 3])

    assert told == factorial(6) // 2**3
    assert waited > 0
