"""Sources of a client's connection: the caller, a pool, or the client's own, which differ in who commits."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from signalbox.connections import pooling, primary_selection
from signalbox.errors import InvalidArgument, OpenTransaction


class Pool(Protocol):
    """A pool as psycopg_pool makes them: leaving the block commits and gives the connection back."""

    def connection(self) -> AbstractContextManager[psycopg.Connection[Any]]: ...


#: The most reads until a closed connection shows its end: a notice, the reason, the end of the stream.
_CLOSING_READS = 3

Source = str | psycopg.Connection[Any] | Pool


class Connections:
    """The source of a client's connection: it lends one for each call."""

    #: True when every call is a transaction of its own, False when the caller decides.
    commits_each_call = True

    #: True when every borrow gives the same connection, on which a lock of the session can be held.
    lasting = True

    #: The address for a connection that listens; None where only the caller knows it.
    dsn: str | None = None

    def borrow(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        """Lend a connection for the block."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the client's own connection; a source of the caller's connections closes none."""


class CallersConnection(Connections):
    """The caller's own connection: calls join the caller's transaction and never commit it."""

    commits_each_call = False

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    @contextmanager
    def borrow(self) -> Iterator[psycopg.Connection[Any]]:
        yield self._connection


class PooledConnections(Connections):
    """A connection of the caller's pool for each call."""

    lasting = False

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @contextmanager
    def borrow(self) -> Iterator[psycopg.Connection[Any]]:
        with self._pool.connection() as connection:
            try:
                yield connection
            except psycopg.errors.ReadOnlySqlTransaction:
                connection.close()  # so that the pool makes another
                raise


class OwnConnection(Connections):
    """One autocommit connection, opened at the first call and again when it is lost; threads and tasks take turns.

    A forked child opens its own: two processes on one socket would read each other's answers.
    """

    def __init__(self, dsn: str, connect_options: dict[str, Any]) -> None:
        self.dsn = dsn
        self._connect_options = pooling.prepared(connect_options)
        self._forget()

    def _forget(self) -> None:
        self._turn = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None
        self._owner = os.getpid()  # last, so that no thread of a child uses the parent's

    @contextmanager
    def borrow(self) -> Iterator[psycopg.Connection[Any]]:
        if self._owner != os.getpid():
            self._forget()
        with self._turn:
            connection = self._usable()
            try:
                yield connection
            except psycopg.errors.ReadOnlySqlTransaction:
                connection.close()  # the next call looks for the server that takes writes
                raise
            finally:
                if not is_idle(connection):
                    connection.close()

    def _usable(self) -> psycopg.Connection[Any]:
        if self._connection is None or not is_alive(self._connection):
            self.close()
            self._connection = primary_selection.connect(self.dsn or "", autocommit=True, **self._connect_options)
        return self._connection

    def close(self) -> None:
        """Close the connection, if it is open."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def connections_of(source: Source, connect_options: dict[str, Any]) -> Connections:
    """Wrap a DSN, a connection or a pool as a source of connections."""
    if isinstance(source, str):
        return OwnConnection(source, connect_options)
    if isinstance(source, psycopg.Connection):
        return CallersConnection(source)
    return PooledConnections(source)


def is_idle(connection: psycopg.BaseConnection[Any]) -> bool:
    """Return whether the connection is open and outside any transaction."""
    return connection.info.transaction_status == TransactionStatus.IDLE


def is_alive(connection: psycopg.BaseConnection[Any]) -> bool:
    """Return whether the connection is open and its server was not replaced, as far as this process knows.

    No statement is sent.
    """
    try:
        for _ in range(_CLOSING_READS):
            if connection.closed or not _has_input(connection.fileno()):
                break
            connection.pgconn.consume_input()
    except psycopg.OperationalError:
        return False
    return not connection.closed and not primary_selection.is_replaced(connection)


def _has_input(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def lasting_dsn(dsn: str, application_name: str) -> str:
    """The DSN, with defaults for connections that stay open: a dead peer is noticed within a minute."""
    defaults = {name: value for name, value in primary_selection.DEFAULTS.items() if name != "target_session_attrs"}
    return make_conninfo(**(defaults | {"application_name": application_name} | conninfo_to_dict(dsn)))


def one_transaction(connection: psycopg.Connection[Any]) -> AbstractContextManager[object]:
    """Run the calls of the block in one transaction: the caller's if one is open, otherwise a new one."""
    return connection.transaction() if connection.autocommit and is_idle(connection) else nullcontext()


def check_claim(connection: psycopg.BaseConnection[Any], *, durable: bool, allow_open_transaction: bool) -> None:
    """Refuse a claim on a caller's connection if its transaction would stay open after the claim."""
    if connection.autocommit and is_idle(connection):
        return
    if not allow_open_transaction:
        raise OpenTransaction
    if not durable:
        raise InvalidArgument(
            "durable=False would make all of the open transaction commit asynchronously", field="durable"
        )


def check_wait(connection: psycopg.BaseConnection[Any]) -> None:
    """Refuse to wait on a caller's connection in a transaction, which would stay open for as long."""
    if not (connection.autocommit and is_idle(connection)):
        raise OpenTransaction("Waiting would keep this connection's transaction open: give the client a DSN or a pool.")
