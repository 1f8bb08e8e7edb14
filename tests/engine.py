"""Fixtures for tests of the engine: real connections that commit, and a queue of one's own: no test needs to clean up.

Tests that use these never wrap the database in a transaction: a queue's behaviour is what others see.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg import pq
from psycopg.types.json import Jsonb

from queues.database.connections import dsn as django_dsn
from tests.reuse import Sessions
from tests.sweeping import sweep

Row = tuple[Any, ...]

OPEN_TRANSACTIONS = (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)


_database: list[str] = []
"""Where it is, once a test has asked for it."""


@pytest.fixture(scope="session")
def dsn(django_db_setup: None, django_db_blocker: Any) -> str:
    """The libpq connection string of the migrated test database."""
    with django_db_blocker.unblock():
        _database[:] = [django_dsn()]
    return _database[0]


@pytest.fixture(scope="module", autouse=True)
def swept() -> Iterator[None]:
    """A module's queues do not make the pages of all later ones longer."""
    yield
    for database in _database:
        sweep(database)


@pytest.fixture(scope="session")
def sessions(dsn: str) -> Iterator[Sessions]:
    kept = Sessions(dsn)
    yield kept
    kept.close()


@pytest.fixture
def connect(dsn: str, sessions: Sessions) -> Iterator[Callable[..., psycopg.Connection[Any]]]:
    """Open connections (autocommit by default) that the test need not close."""
    opened: list[psycopg.Connection[Any]] = []
    plain: list[psycopg.Connection[Any]] = []

    def _connect(*, autocommit: bool = True, **options: Any) -> psycopg.Connection[Any]:
        if autocommit and not options:
            plain.append(sessions.take())
            return plain[-1]
        opened.append(psycopg.connect(dsn, autocommit=autocommit, **options))
        return opened[-1]

    yield _connect
    for connection in plain + opened:
        if connection.info.transaction_status in OPEN_TRANSACTIONS:
            with suppress(psycopg.OperationalError):  # the test has killed it
                connection.rollback()  # a server that only gets a goodbye releases its locks late
        if connection in plain:
            sessions.give_back(connection)
        else:
            connection.close()


@dataclass
class Engine:
    """The verbs over one connection, for one queue, as short as a test wants them."""

    connection: psycopg.Connection[Any]
    queue: str
    queue_id: int

    def rows(self, statement: str, *parameters: Any) -> list[Row]:
        return self.connection.execute(statement, parameters).fetchall()

    def value(self, statement: str, *parameters: Any) -> Any:
        row = self.connection.execute(statement, parameters).fetchone()
        return row[0] if row else None

    def on(self, connection: psycopg.Connection[Any]) -> Engine:
        """Engine for the queue on another connection."""
        return Engine(connection, self.queue, self.queue_id)

    def send(self, payload: Any = None, **options: Any) -> int:
        names = "".join(f", {name} => %s" for name in options)
        return int(self.value(f"select signalbox.send(%s, %s{names})", self.queue, Jsonb(payload), *_adapted(options)))

    def receive(self, max_messages: int = 1, **options: Any) -> list[Row]:
        """Rows of (message_id, receipt_handle, receive_count, payload, group_id)."""
        names = "".join(f", {name} => %s" for name in options)
        return self.rows(
            "select message_id, receipt_handle, receive_count, payload, group_id"
            f" from signalbox.receive(%s, %s{names})",
            self.queue,
            max_messages,
            *options.values(),
        )

    def receive_one(self, **options: Any) -> Row:
        (row,) = self.receive(1, **options)
        return row

    def ack(self, *handles: str) -> list[bool]:
        return [row[1] for row in self.rows("select * from signalbox.ack(%s)", list(handles))]

    def nack(self, handle: str, **options: Any) -> str | None:
        names = "".join(f", {name} => %s" for name in options)
        return self.value(f"select signalbox.nack(%s{names})", handle, *options.values())  # type: ignore[no-any-return]

    def die(self, payload: Any = None, **failure: Any) -> int:
        """Send a message and reject it; returns its dead_letter_id."""
        message_id = self.send(payload)
        (handle,) = [row[1] for row in self.receive(100) if row[0] == message_id]
        assert self.nack(handle, reason="rejected", **failure) == "dead"
        return int(self.value("select dead_letter_id from signalbox.dead_letter where message_id = %s", message_id))

    def counted(self) -> Row:
        """Depths by the counters: ready, scheduled, leased, dead, held."""
        return self.rows(
            "select signalbox.depth(totals, 'ready'), signalbox.depth(totals, 'scheduled'),"
            " signalbox.depth(totals, 'leased'), signalbox.depth(totals, 'dead'), signalbox.depth(totals, 'held')"
            " from signalbox.queue_totals(array[%s::integer])",
            self.queue_id,
        )[0]

    def recounted(self) -> Row:
        """Number of messages by state, counted row by row."""
        return self.rows("select ready, scheduled, leased, dead, held from signalbox.recount(%s)", self.queue_id)[0]

    def waiting(self) -> int:
        """Number of messages that wait for their group: by the counters, which must equal the rows."""
        counted = self.value(
            "select signalbox.depth(totals, 'waiting') from signalbox.queue_totals(array[%s::integer])", self.queue_id
        )
        assert counted == self.value("select waiting from signalbox.recount(%s)", self.queue_id)
        assert self.lanes() == self.lanes_recounted()
        return int(counted)

    def lanes(self) -> dict[str, Row]:
        """Waiting messages and messages in flight by group, from the counters; empty groups are left out."""
        rows = self.rows(
            "select c.* from signalbox.lane_counts(%(id)s, array("
            " select lane from signalbox.lane_stat where queue_id = %(id)s"
            " union select lane from signalbox.counter_delta where queue_id = %(id)s and lane is not null"
            ")) c where c.waiting <> 0 or c.under_way <> 0".replace("%(id)s", str(self.queue_id))
        )
        return {row[0]: row[1:] for row in rows}

    def lanes_recounted(self) -> dict[str, Row]:
        """Numbers by message group, counted row by row."""
        return {row[0]: row[1:] for row in self.rows("select * from signalbox.recount_lanes(%s)", self.queue_id)}


def _adapted(options: dict[str, Any]) -> list[Any]:
    return [Jsonb(value) if name == "attributes" and value is not None else value for name, value in options.items()]


_names = itertools.count(1)
_run = uuid.uuid4().hex[:6]


class QueueMaker:
    """Maker of queues on a connection that stays: the first call on a new connection takes ten times as long."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: psycopg.Connection[Any] | None = None

    def make(self, name: str, settings: dict[str, Any]) -> int:
        """Create the queue and return its id."""
        try:
            return self._create(name, settings)
        except psycopg.OperationalError:  # a test has ended this session, or restarted the server
            self.close()
            return self._create(name, settings)

    def _create(self, name: str, settings: dict[str, Any]) -> int:
        if self._connection is None:
            self._connection = psycopg.connect(self._dsn, autocommit=True, prepare_threshold=None)
        row = self._connection.execute("select signalbox.create_queue(%s, %s)", [name, Jsonb(settings)]).fetchone()
        assert row is not None
        return int(row[0])

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@pytest.fixture(scope="session")
def queue_maker(dsn: str) -> Iterator[QueueMaker]:
    maker = QueueMaker(dsn)
    yield maker
    maker.close()


@pytest.fixture
def make_engine(connect: Callable[..., psycopg.Connection[Any]], queue_maker: QueueMaker) -> Callable[..., Engine]:
    """Make a queue with a new name and these settings, on a connection of its own."""

    def _make(**settings: Any) -> Engine:
        name = f"test-{_run}-{next(_names)}"
        return Engine(connect(), name, queue_maker.make(name, settings))

    return _make


@pytest.fixture
def engine(make_engine: Callable[..., Engine]) -> Engine:
    """A queue with default settings."""
    return make_engine()


@pytest.fixture
def let_leases_end(dsn: str) -> Callable[[str], None]:
    """Move the expiry of all leases of a queue into the past."""

    def end(queue: str) -> None:
        with psycopg.connect(dsn) as connection:
            connection.execute(
                "update signalbox.lease set deadline = clock_timestamp()"
                " where queue_id = (select queue_id from signalbox.queue where name = %s)",
                [queue],
            )

    return end
