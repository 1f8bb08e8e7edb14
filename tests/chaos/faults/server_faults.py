"""Faults of the server: killed, restarted, its sessions ended by storms, its places taken."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

import psycopg

from tests.chaos.faults.nemesis import Doing, Nemesis, crash, hold
from tests.chaos.faults.schedule import Fault

CLIENT_BACKENDS = (
    "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() order by pid"
)


def _end(number: signal.Signals) -> Doing:
    def end(nemesis: Nemesis, _: Fault) -> None:
        crash(nemesis, lambda: nemesis.server.end(number))

    return end


def _kill_backend(nemesis: Nemesis, fault: Fault) -> None:
    """One backend that dies by itself makes the postmaster end all others and recover."""

    def kill() -> None:
        with nemesis.server.connect_patiently() as connection:
            pids = [row[0] for row in connection.execute(CLIENT_BACKENDS)]
            os.kill(pids[int(fault.pick * len(pids))], signal.SIGKILL)
            _wait_for_the_end(connection)
        nemesis.server.connect_patiently().close()

    crash(nemesis, kill)


def _wait_for_the_end(connection: psycopg.Connection) -> None:
    """Wait until the server ends this session too, which it does before it recovers."""
    deadline = time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            connection.execute("select pg_sleep(0.02)")
    except psycopg.OperationalError:
        return


def _storm(function: str) -> Doing:
    def storm(nemesis: Nemesis, fault: Fault) -> None:
        """Three waves, each of a third of all sessions."""
        for wave in range(3):
            with nemesis.server.connect_patiently() as connection:
                connection.execute(
                    f"select {function}(pid) from ({CLIENT_BACKENDS}) b where (pid + %s) %% 3 = 0", [wave]
                )
            hold(fault.seconds / 6)

    return storm


def _exhaust(nemesis: Nemesis, fault: Fault) -> bool:
    """Every place that is free, and as long as it lasts also those that become free."""
    taken: list[psycopg.Connection] = []
    refused = 0
    until = time.monotonic() + fault.seconds
    try:
        while time.monotonic() < until:
            try:
                taken.append(nemesis.server.connect())
            except psycopg.OperationalError:
                refused += 1
                time.sleep(0.02)
    finally:
        for connection in taken:
            connection.close()
    return bool(taken)


def _read_only(nemesis: Nemesis, fault: Fault) -> None:
    """Every session is ended and finds, when it comes again, that nothing may be written; then the same way back."""
    _let_write(nemesis, "off")
    try:
        hold(fault.seconds)
    finally:
        _let_write(nemesis, "on")


def _let_write(nemesis: Nemesis, may: str) -> None:
    """Do it despite other faults that end this session."""
    read_only = {"on": "off", "off": "on"}[may]
    while True:
        with suppress(psycopg.OperationalError), nemesis.server.connect_patiently() as connection:
            connection.execute("set default_transaction_read_only = off")
            connection.execute(f"alter database signalbox set default_transaction_read_only = {read_only}")
            connection.execute(f"select pg_terminate_backend(pid) from ({CLIENT_BACKENDS}) b")
            return


FAULTS: dict[str, Doing] = {
    "kill postmaster": _end(signal.SIGKILL),
    "stop server at once": _end(signal.SIGQUIT),
    "restart server": _end(signal.SIGINT),
    "kill backend": _kill_backend,
    "terminate backends": _storm("pg_terminate_backend"),
    "read-only database": _read_only,
    "cancel statements": _storm("pg_cancel_backend"),
    "exhaust connections": _exhaust,
}
