"""A move between two servers with senders, a consumer and a transaction that is open when the old cell closes.

The check says what is wrong: a message lost, delivered again after its ack, out of the order of its group, sent twice
under one deduplication id, or taken by two cells at once.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
from django.db import Error, connection, connections
from psycopg.types.json import Jsonb

from queues import fleet
from queues.control.queues import create_queue
from queues.fleet import moving
from signalbox.connections.unavailable import Unavailable
from signalbox.errors import Moved, PartlySent, SignalboxError
from signalbox.fleet.client import FleetClient
from signalbox.fleet.map import partition_of
from tests.chaos.server import ChaosServer

GROUPS = [name for name in (f"group-{number}" for number in range(300)) if partition_of(name) < 16][:3]
STAYING = next(name for name in (f"group-{number}" for number in range(300)) if partition_of(name) >= 16)
OUTAGES = (Error, psycopg.Error, Unavailable)
MAX_ROUNDS = 200


class Death(BaseException):
    """The end of a runner, which no handler may catch."""


class Watch:
    """Statements of the runner, counted; something happens before or after one of them."""

    def __init__(self) -> None:
        self.count = 0
        self._at = 0
        self._event: Any = None
        self._after = False
        self._active = False

    def install(self, patch: Any) -> None:
        original = psycopg.Cursor.execute
        watch = self

        def execute(cursor: Any, *arguments: Any, **options: Any) -> Any:
            if not watch._active:
                return original(cursor, *arguments, **options)
            watch.count += 1
            due = watch.count == watch._at
            if due and not watch._after:
                watch._happen()
            result = original(cursor, *arguments, **options)
            if due and watch._after:
                watch._happen()
            return result

        patch(psycopg.Cursor, "execute", execute)

    def _happen(self) -> None:
        self._active = False
        self._event()

    @contextmanager
    def runner(self, at: int = 0, event: Any = None, after: bool = False) -> Iterator[None]:
        self.count, self._at, self._event, self._after, self._active = 0, at, event, after, True
        try:
            yield
        finally:
            self._active = False


class Lookers:
    """Sessions that look whether a cell takes a group, one a server: a new one would compile all of a send again."""

    def __init__(self) -> None:
        self._sessions: dict[ChaosServer, psycopg.Connection[Any]] = {}

    def at(self, server: ChaosServer) -> psycopg.Connection[Any]:
        """Session that was at the server before."""
        return self._sessions[server] if server in self._sessions else self.again_at(server)

    def again_at(self, server: ChaosServer) -> psycopg.Connection[Any]:
        """New session instead of a broken one."""
        if server in self._sessions:
            self._sessions[server].close()
        self._sessions[server] = server.connect_patiently()
        return self._sessions[server]

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()


@dataclass
class Scene:
    """One FIFO queue on the cells a and b, of which partitions 0-15 move from a to b."""

    a: ChaosServer
    b: ChaosServer
    lookers: Lookers
    queue: str = field(default_factory=lambda: f"killed-{uuid.uuid4().hex[:8]}")
    sent: dict[str, list[int]] = field(default_factory=dict)
    """The numbers of each group, in the order in which their sends were answered."""
    acked: dict[str, list[int]] = field(default_factory=dict)
    wrongs: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        create_queue(self.queue, {"mode": "fifo", "visibility_timeout_seconds": 600})
        fleet.place(self.queue, ["a"], actor="test")
        self.client = FleetClient(self.a.url)
        self._numbers = itertools.count()
        for group in [*GROUPS, STAYING, *GROUPS]:
            self.send(group)
        self.first = self.client.send(self.queue, -1, group_id=GROUPS[0], deduplication_id="once")
        self.sent[GROUPS[0]].append(-1)
        [self.held] = self.client.receive(self.queue)
        [started] = fleet.start(self.queue, range(16), "b", actor="test")
        self.move_id = started.move_id

    def send(self, group: str) -> None:
        """Send the next number to a group; a refusal or an outage is no send, and a doubtful one is not expected."""
        number = next(self._numbers)
        with suppress(Moved, PartlySent, *OUTAGES):
            self.client.send(self.queue, number, group_id=group)
            self.sent.setdefault(group, []).append(number)

    @contextmanager
    def open_transaction(self) -> Iterator[None]:
        """A sender in the old cell that has not committed when the cell closes."""
        number = next(self._numbers)
        sender = self.a.connect()
        try:
            with sender.transaction():
                sender.execute("select signalbox.send(%s, %s, group_id => %s)", [self.queue, Jsonb(number), GROUPS[2]])
                yield
            self.sent[GROUPS[2]].append(number)
        except psycopg.Error:
            pass  # its server was killed: it was not sent
        finally:
            sender.close()

    def run(self) -> None:
        """Run the move until it needs a consumer."""
        try:
            moving.advance(self.move_id)
        except OUTAGES:
            connections.close_all()

    def look(self) -> None:
        """Check that at most one cell takes each moving group at this moment."""
        takers = {group: [name for name in "ab" if self._takes(name, group)] for group in GROUPS}
        self.wrongs += [f"{group} is taken by {cells}" for group, cells in takers.items() if len(cells) > 1]

    def _takes(self, name: str, group: str) -> bool:
        server = getattr(self, name)
        try:
            return self._is_taken(self.lookers.at(server), group)
        except psycopg.OperationalError:  # it was killed after the last look
            return self._is_taken(self.lookers.again_at(server), group)

    def _is_taken(self, session: psycopg.Connection[Any], group: str) -> bool:
        try:
            with session.transaction(force_rollback=True):
                session.execute("select signalbox.send(%s, 'null', group_id => %s)", [self.queue, group])
        except psycopg.DatabaseError as error:
            if error.sqlstate not in {"SB421", "SB404"}:
                raise
            return False
        return True

    def finish(self) -> list[str]:
        """Send on, consume everything while the move ends, and return what is wrong."""
        self.look()
        for group in GROUPS:
            self.send(group)
        self.consume(2)
        for round_ in range(MAX_ROUNDS):
            if fleet.get_move(self.move_id).paused:  # a backend of the dead runner outlived the short bound
                fleet.pause(self.move_id, False, actor="test")
            self.run()
            self.look()
            if round_ == 1:
                self.send(GROUPS[0])
                self._repeat_once()
            if round_ == 2:
                self._ack(self.held)
            if not self.consume(1) and round_ > 3 and fleet.get_move(self.move_id).has_ended:
                break
        self._judge()
        self.client.close()  # a server has room for a hundred sessions, and a matrix has more scenes
        return self.wrongs

    def _repeat_once(self) -> None:
        with suppress(*OUTAGES, Moved):
            if self.client.send(self.queue, -1, group_id=GROUPS[0], deduplication_id="once") != self.first:
                self.wrongs.append("the same deduplication id was sent twice")

    def consume(self, count: int) -> int:
        """Receive and ack up to `count` times; returns the number of messages."""
        consumed = 0
        for _ in range(count):
            try:
                messages = self.client.receive(self.queue, 10)
            except (*OUTAGES, SignalboxError):
                messages = []
            groups = [message.group_id for message in messages]
            self.wrongs += [f"{group}: two messages in flight" for group in set(groups) if groups.count(group) > 1]
            for message in messages:
                consumed += 1
                self._ack(message)
        return consumed

    def _ack(self, message: Any) -> None:
        if self.client.ack(message):
            self.acked.setdefault(message.group_id, []).append(message.payload)
        else:
            self.wrongs.append(f"the lease of {message.payload} ended by itself")

    def _judge(self) -> None:
        move = fleet.get_move(self.move_id)
        if move.state != "done":
            self.wrongs.append(f"the move is {move.state}: {move.problem}")
        cells = {p.ranges: (p.cell, p.state) for p in fleet.placements(self.queue)}
        if cells != {"0-15": ("b", "settled"), "16-63": ("a", "settled")}:
            self.wrongs.append(f"placed at {cells}")
        for group, numbers in self.sent.items():
            got = self.acked.get(group, [])
            surely = [number for number in got if number in numbers]
            if surely != numbers:
                self.wrongs.append(f"{group}: sent {numbers}, acked {got}")
            if len(set(got)) < len(got):
                self.wrongs.append(f"{group}: acked twice: {got}")


@contextmanager
def home_at(server: ChaosServer) -> Iterator[None]:
    """Lead Django's connection to a server."""
    connections.close_all()
    before = dict(connection.settings_dict)
    connection.settings_dict.update(
        EMBEDDED_HOME=str(server.home), HOST=str(server._server.folders.socket), NAME="signalbox"
    )
    try:
        yield
    finally:
        connections.close_all()
        connection.settings_dict.update(before)
