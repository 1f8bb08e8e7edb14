"""Stage for short schedules: a database with the queues of a run, and scripted clients."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from queues.upkeep.claim_floors import FloorKeeper
from signalbox import Message
from tests.chaos.company.client import Assignment, Interrupted
from tests.chaos.company.consumers import Consumer
from tests.chaos.company.queues import QUEUES
from tests.chaos.judging import history
from tests.chaos.judging.checker import Verdict, check
from tests.chaos.judging.history import OK, UNKNOWN
from tests.chaos.judging.truth import left, read_truth
from tests.chaos.server import CONNECT_SECONDS, ChaosServer
from tests.races.floors import TERM_SECONDS

LONG_SECONDS = 600.0
#: Number of empty claims after which the rest counts as lost.
VAIN = 5


class Actor(Consumer):
    """A client that does what a schedule says, and writes it down like any other. A slow machine refuses it nothing."""

    sessions = ("",)
    connect_seconds = CONNECT_SECONDS

    def connect(self) -> None:
        """Do it at once, without waiting for work."""
        _ = self.connection

    def send(self, **options: Any) -> int:
        """The token that was sent."""
        (token,) = self.tokens(1)
        self.send_token(token, **options)
        return token

    def send_token(self, token: int, *, heard: bool = True, **options: Any) -> None:
        """Send a message; `heard` is false where the answer gets lost."""
        noted = {"group": options["group_id"]} if "group_id" in options else {}
        noted |= {"keyed": True} if "deduplication_id" in options else {}
        number = self.journal.invoke("send", queue=self.queue, tokens=[token], **noted)
        message_id = self.verbs.send(self.queue, token, **options)
        self.journal.complete(number, *([OK] if heard else [UNKNOWN]), **({"ids": [message_id]} if heard else {}))

    def take(self, most: int = 1, visibility: float = LONG_SECONDS) -> list[Message]:
        return self.receive(most, visibility=visibility)

    def finish(self, messages: list[Message]) -> None:
        """Ack, and with it what the messages of some queues are for."""
        with self.connection.transaction():
            if self.queue == "orders":
                for message in messages:
                    self.connection.execute("insert into public.effect values (%s)", [message.id])
            self.ack(messages)

    def nack(self, messages: list[Message], delay: float | None = 0.0, reason: str = "runtime_error") -> None:
        for message in messages:
            self._settle("nack", message, delay=delay, reason=reason)

    def extend(self, messages: list[Message]) -> None:
        """Ack the message that was received."""
        self._extend(messages, LONG_SECONDS)


@dataclass
class Stage:
    """A database with the queues of a run, and who acts in it."""

    server: ChaosServer
    database: str
    folder: Path
    split_transactions: bool = False
    """Clients do in two transactions what belongs into one."""
    actors: list[Actor] = field(default_factory=list)
    numbers: Any = field(default_factory=lambda: itertools.count(1))
    keeper: FloorKeeper | None = None
    now: float = 1000.0

    def actor(self, queue: str = "plain") -> Actor:
        dsn = self.server.url_of(self.database)
        made = Actor(Assignment("consumer", queue, next(self.numbers), 1, dsn, self.folder, {}))
        self.actors.append(made)
        return made

    def connect(self) -> psycopg.Connection[Any]:
        return self.server.connect(self.database)

    def tick(self, times: int = 3) -> None:
        """Let the claim floors advance by this number of steps."""
        if self.keeper is None:
            self.keeper = FloorKeeper(self.connect(), ttl_seconds=TERM_SECONDS)
        queues = [row[0] for row in self.keeper.connection.execute("select queue_id from signalbox.queue").fetchall()]
        for _ in range(times):
            self.now += 0.1
            self.keeper.tick(self.now, queues)

    def verdict(self) -> Verdict:
        """Check the history so far, after receiving everything that can still be received."""
        self._drain()
        with self.connect() as connection:
            truth = read_truth(connection, QUEUES)
        return check(history.read(self.folder), truth)

    def _drain(self) -> None:
        with self.connect() as observer:
            drainers = [self.actor(queue.name) for queue in QUEUES]
            vain = 0
            while any(left(observer)) and vain < VAIN:
                found = sum(self._drained(drainer) for drainer in drainers)
                vain = 0 if found else vain + 1
                _wait_for_what_is_due(observer)

    def _drained(self, drainer: Actor) -> bool:
        """Return whether there was work. A refusal of the engine counts as none; the checker sees the rest."""
        drainer.connect()
        if self.keeper is not None:
            self.tick(1)  # right before the claim, which believes floors only while they move
        try:
            if messages := drainer.take(100):
                drainer.finish(messages)
        except Interrupted:
            drainer.drop()
            return False
        return bool(messages)

    def close(self) -> None:
        for actor in self.actors:
            actor.drop()
        if self.keeper is not None:
            self.keeper.connection.close()


def _wait_for_what_is_due(observer: psycopg.Connection[Any]) -> None:
    deadline = time.monotonic() + 60
    waits = "select exists (select from signalbox.scheduled where due_at > clock_timestamp())"
    while observer.execute(waits).fetchone() == (True,) and time.monotonic() < deadline:
        time.sleep(0.01)
