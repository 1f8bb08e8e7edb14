"""Faults by other sessions of the same database: locks, deadlocks, transactions that stay open, old snapshots.

Those that send take part in the history like any client.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import psycopg

from signalbox import Client
from tests.chaos.faults.nemesis import Doing, Nemesis, hold
from tests.chaos.faults.schedule import Fault
from tests.chaos.judging.history import FAILED, OK

TABLES = ("ready", "lease", "message", "scheduled", "settled", "counter_delta")
#: A writer that is open for longer than this is passed by the claim floors, which then must come back for it.
PASSED_SECONDS = 5.5
QUEUE = "orders"


def _lock_a_table(nemesis: Nemesis, fault: Fault) -> None:
    """Hold a lock: sessions that wait longer than their lock timeout are refused."""
    table = TABLES[int(fault.pick * len(TABLES))]
    with nemesis.server.connect_patiently() as connection:
        connection.execute("set lock_timeout = '10s'")
        connection.execute("begin")
        connection.execute(f"lock table signalbox.{table} in access exclusive mode")
        hold(fault.seconds)
        connection.execute("rollback")


def _hold_a_snapshot(nemesis: Nemesis, fault: Fault) -> None:
    with nemesis.server.connect_patiently() as connection:
        connection.execute("begin isolation level repeatable read read only")
        connection.execute("select count(*) from signalbox.queue")
        hold(3 * fault.seconds)
        connection.execute("rollback")


class _Sending:
    """Transaction of the nemesis that sends; its outcome is recorded at the end of the block."""

    def __init__(self, nemesis: Nemesis, connection: psycopg.Connection[Any]) -> None:
        self.nemesis, self.connection, self.token = nemesis, connection, nemesis.token()
        self.outcome, self.ids = FAILED, None

    def __enter__(self) -> _Sending:
        self.number = self.nemesis.journal.invoke("send in a transaction", queue=QUEUE, tokens=[self.token])
        return self

    def __exit__(self, *_: object) -> None:
        answer = {"ids": [self.message_id]} if self.outcome == OK else {}
        self.nemesis.journal.complete(self.number, self.outcome, **answer)

    def send(self) -> None:
        self.connection.execute("begin")
        self.connection.execute("insert into public.business values (%s)", [self.token])
        self.message_id = Client(self.connection).send(QUEUE, self.token)

    def commit(self) -> None:
        self.outcome = "?"
        self.connection.execute("commit")
        self.outcome = OK


def _idle_in_transaction(nemesis: Nemesis, fault: Fault) -> bool:
    """The server ends who is idle with a send not yet committed: it never happened."""
    connection = nemesis.server.connect_patiently()
    connection.execute("set idle_in_transaction_session_timeout = '200ms'")
    with _Sending(nemesis, connection) as sending:
        sending.send()
        for _ in range(600):
            if _has_ended(connection):
                return True
            hold(0.1)
    connection.close()
    return False


def _has_ended(connection: psycopg.Connection[Any]) -> bool:
    with suppress(psycopg.Error):
        connection.pgconn.consume_input()
    return bool(connection.closed)


def _hold_a_write(nemesis: Nemesis, fault: Fault) -> None:
    """A send that commits long after it was made, when claim floors have passed it."""
    with nemesis.server.connect_patiently() as connection, _Sending(nemesis, connection) as sending:
        sending.send()
        hold(PASSED_SECONDS if fault.pick < 0.7 else fault.seconds)
        sending.commit()


def _deadlock(nemesis: Nemesis, _: Fault) -> bool:
    """Two that sent, each waiting for the other's row: one of them has never sent."""
    met = threading.Barrier(2, timeout=60)
    victims: list[int] = []

    def rival(first: int, second: int) -> None:
        with nemesis.server.connect_patiently() as connection, _Sending(nemesis, connection) as sending:
            try:
                sending.send()
                connection.execute("update public.rivals set wins = wins + 1 where place = %s", [first])
                met.wait()
                connection.execute("update public.rivals set wins = wins + 1 where place = %s", [second])
                sending.commit()
            except psycopg.errors.DeadlockDetected:
                victims.append(first)
            except (psycopg.Error, threading.BrokenBarrierError):  # another fault was faster
                met.abort()
                with suppress(psycopg.Error):  # leaving the block would commit what is still open
                    connection.execute("rollback")

    other = threading.Thread(target=rival, args=(2, 1))
    other.start()
    rival(1, 2)
    other.join()
    return bool(victims)


def _prepare_a_send(nemesis: Nemesis, fault: Fault) -> bool:
    """A prepared transaction outlives its session, and even the server."""
    connection = nemesis.server.connect_patiently()
    with _Sending(nemesis, connection) as sending:
        sending.send()
        sending.outcome = "?"
        connection.execute(f"prepare transaction 'chaos {sending.token}'")
        connection.close()
        hold(PASSED_SECONDS if fault.pick < 0.3 else fault.seconds)
        verb = "commit" if fault.pick < 0.7 else "rollback"
        _end_prepared(nemesis, f"{verb} prepared 'chaos {sending.token}'")
        sending.outcome = OK if verb == "commit" else FAILED
    return True


def _end_prepared(nemesis: Nemesis, statement: str) -> None:
    """Repeat until success is reported, or until there is nothing left to do."""
    while True:
        with nemesis.server.connect_patiently() as connection, suppress(psycopg.OperationalError):
            with suppress(psycopg.errors.UndefinedObject):
                connection.execute(statement)
            return


FAULTS: dict[str, Doing] = {
    "lock a table": _lock_a_table,
    "idle in transaction": _idle_in_transaction,
    "deadlock": _deadlock,
    "hold a snapshot": _hold_a_snapshot,
    "hold a write": _hold_a_write,
    "prepare a send": _prepare_a_send,
}
