"""The client of a database: each call of a verb is one SQL statement over psycopg."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from signalbox.calls import receiving, sending
from signalbox.calls.call import Call, T, Wait
from signalbox.connections import pooling
from signalbox.connections.connections import Source, connections_of, one_transaction
from signalbox.connections.listening import Waiter, shared_listener, stream_key
from signalbox.connections.reconnect import jittered
from signalbox.errors import translated
from signalbox.payloads.bodies import BodyStore, Parcel, parcels_of, upload
from signalbox.verbs import DatabaseVerbs

#: The longest pause between two receives of a long poll, in seconds: a wake-up may be lost, and the end of a delay or
#: of a lease sends none.
LOOK_SECONDS = 1.0


class Client(DatabaseVerbs):
    """The verbs of Signalbox over a connection to its database.

    Given a DSN or a pool, each call is a short transaction of its own. Given a connection, calls join the
    caller's transaction and never commit it. Further keywords go to `psycopg.connect` with the DSN. A DSN of several
    hosts leads to the one that takes writes (`signalbox.connections.primary_selection`), or through a pooler
    (`signalbox.connections.pooling`).

    With a body store (`bodies`), payloads too large for the database go there; without one they are refused.

    Refusals are raised as errors of `signalbox.errors`; a lost database as `psycopg.OperationalError`, and
    then the call may or may not have been carried out.
    """

    def __init__(self, source: Source, *, bodies: BodyStore | None = None, **connect_options: Any) -> None:
        self._bodies = bodies
        self._connections = connections_of(source, connect_options)

    def close(self) -> None:
        """Close the client's own connection, if it has one. A later call opens another."""
        self._connections.close()

    def _run(self, call: Call[T]) -> T:
        result = self._run_once(call)
        if result or call.wait is None or not call.wait.seconds:
            return result
        with self._long_poll(call.wait.queue):
            return self._run_until_result(call, call.wait)

    def _run_once(self, call: Call[T]) -> T:
        with self._borrow() as connection:
            if call.check and not self._connections.commits_each_call:
                call.check(connection)
            return self._execute(connection, call)

    def _run_until_result(self, call: Call[T], wait: Wait) -> T:
        """Repeat the call until it returns messages: after each wake-up, and periodically without one."""
        ends_at = time.monotonic() + wait.seconds
        with self._waiter(wait.queue or stream_key(wait.stream or "")) as waiter:
            while not (result := self._run_once(call)) and (left := ends_at - time.monotonic()) > 0:
                waiter.wait(min(left, jittered(LOOK_SECONDS)))
                waiter.clear()  # before the call: a later wake-up ends the next wait
        return result

    def _send(self, call: Call[T]) -> T:
        parcels = parcels_of(sending.payloads_of(call), self._bodies) if self._bodies is not None else {}
        if not parcels:
            return self._run(call)
        pointing = sending.with_pointers(call, {index: parcel.sha256 for index, parcel in parcels.items()})
        return self._send_large(pointing, {parcel.sha256: parcel for parcel in parcels.values()})

    def _send_large(self, call: Call[T], parcels: dict[str, Parcel]) -> T:
        """Claim and upload the large bodies and send, in one transaction. All senders claim in the same order."""
        assert self._bodies is not None  # noqa: S101 - else there are no parcels
        with self._borrow() as connection, one_transaction(connection):
            for sha256, parcel in sorted(parcels.items()):
                self._execute(connection, sending.claim_body(bytes.fromhex(sha256), len(parcel.content)))
                upload(parcel, self._bodies)
            return self._execute(connection, call)

    def _execute(self, connection: psycopg.Connection[Any], call: Call[T]) -> T:
        cursor = connection.cursor(row_factory=tuple_row)
        began = time.perf_counter()
        cursor.execute(call.sql, call.parameters)
        rows = cursor.fetchall()
        if call.durations:
            call.durations.observe(time.perf_counter() - began)
        return call.read(rows)

    @contextmanager
    def _borrow(self) -> Iterator[psycopg.Connection[Any]]:
        """Lend a connection; refusals of the database are raised as errors of `signalbox.errors`."""
        with translated():  # noqa: SIM117 - in the asyncio twin only the second is asynchronous
            with self._connections.borrow() as connection:
                yield connection

    @contextmanager
    def _long_poll(self, queue: str | None) -> Iterator[None]:
        """Count the block as one long poll of the queue's tenant while it runs.

        The count is an advisory lock of a session, so it ends with the client. A client of one connection (a DSN, the
        caller's own) takes the lock on that connection; a pool lends a connection for the wait. Behind a pooler in
        transaction mode no session lasts, and the wait is not counted.
        """
        if queue is None or pooling.is_pooled():
            yield
            return
        with self._borrow() as connection:
            place = self._execute(connection, receiving.begin_long_poll(queue))
            if place is not None and not self._connections.lasting:
                try:
                    yield
                finally:
                    self._execute(connection, receiving.end_long_poll(queue, place))
                return
        try:
            yield
        finally:
            if place is not None:
                self._run_once(receiving.end_long_poll(queue, place))

    @contextmanager
    def _waiter(self, key: str) -> Iterator[Waiter]:
        """Make a waiter for wake-ups of a queue or stream; without a connection that listens, it only times out."""
        waiter, dsn = Waiter(), self._connections.dsn
        with nullcontext() if dsn is None else shared_listener(dsn).on_ready(key, waiter.wake):
            yield waiter
