"""Five phases that break a queue in one way for a while, and four cells of pressure by old snapshots and open writes.

Between them all is calm, and who came back fully is as fast again as before. The server is the same throughout, so what
one of them leaves behind the next would feel; one checker judges all of it in the end.
"""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.chaos.faults.nemesis import Nemesis, crash
from tests.chaos.faults.recovery import next_probe
from tests.chaos.faults.server_faults import CLIENT_BACKENDS
from tests.chaos.judging.history import OK, Operation
from tests.chaos.pace import acks_by_second, rate

PHASE_SECONDS = 15.0
CALM_SECONDS = 12.0
IDLE_CONNECTIONS = 300
#: Back fully is who reaches this share of the pace from before.
FULLY = 0.8

Doing = Callable[[Nemesis, float], None]


@dataclass(frozen=True)
class Phase:
    """Result of a phase: messages/s before, during and after, and the time to the first message."""

    name: str
    before: float
    during: float
    after: float
    recovery_seconds: float | None

    @property
    def recovered_fully(self) -> bool:
        return self.recovery_seconds is not None and self.after >= FULLY * self.before


def work_through(nemesis: Nemesis, say: Callable[[str], None]) -> None:
    """Every phase and cell with calm before and after; each is in the nemesis's history."""
    time.sleep(CALM_SECONDS)
    for name, doing in PHASES.items():
        say(name)
        number = nemesis.journal.invoke("phase", name=name)
        doing(nemesis, time.monotonic() + PHASE_SECONDS)
        nemesis.journal.complete(number, OK)
        time.sleep(CALM_SECONDS)


def phases_of(operations: list[Operation]) -> list[Phase]:
    acked = acks_by_second(operations)
    found = [one for one in operations if one.kind == "phase" and one.completed is not None]
    probes = sorted(
        (one.arguments["began"], one.completed) for one in operations if one.kind == "probe" and one.completed
    )
    return [
        Phase(
            one.arguments["name"],
            rate(acked, one.invoked - CALM_SECONDS / 2, one.invoked),
            rate(acked, one.invoked, one.completed),
            rate(acked, one.completed + CALM_SECONDS / 2, one.completed + CALM_SECONDS),
            next_probe(probes, one.completed),
        )
        for one in found
        if one.completed is not None
    ]


def _until(end: float, every_seconds: float) -> Iterator[None]:
    while time.monotonic() < end:
        yield
        time.sleep(every_seconds)


def _restart(nemesis: Nemesis, _: float) -> None:
    crash(nemesis, lambda: nemesis.server.end(signal.SIGINT))


def _crash(nemesis: Nemesis, _: float) -> None:
    crash(nemesis, lambda: nemesis.server.end(signal.SIGKILL))


def _kill_backends(nemesis: Nemesis, end: float) -> None:
    dice = random.Random(nemesis.company.seed)
    for _ in _until(end, 0.5):
        with suppress(psycopg.OperationalError), nemesis.server.connect() as connection:
            pids = [row[0] for row in connection.execute(CLIENT_BACKENDS)]
            connection.execute("select pg_terminate_backend(%s)", [dice.choice(pids)])


def _idle_connections(nemesis: Nemesis, end: float) -> None:
    with ExitStack() as taken:
        for _ in range(IDLE_CONNECTIONS):
            taken.enter_context(nemesis.server.connect())
        time.sleep(max(0.0, end - time.monotonic()))


def _repeated_kills(nemesis: Nemesis, end: float) -> None:
    for _ in _until(end, 1.0):
        crash(nemesis, lambda: nemesis.server.end(signal.SIGKILL))


@contextmanager
def _snapshot(nemesis: Nemesis) -> Iterator[psycopg.Connection[Any]]:
    with nemesis.server.connect() as connection:
        connection.execute("begin isolation level repeatable read read only")
        connection.execute("select count(*) from signalbox.queue")
        yield connection
        connection.execute("rollback")


def _old_snapshots(count: int) -> Doing:
    def hold(nemesis: Nemesis, end: float) -> None:
        with ExitStack() as held:
            for _ in range(count):
                held.enter_context(_snapshot(nemesis))
            time.sleep(max(0.0, end - time.monotonic()))

    return hold


def _scans(nemesis: Nemesis, end: float) -> None:
    """Two that read the whole log and history over and over, each time in a snapshot that grows old."""

    def read() -> None:
        with _snapshot(nemesis) as connection:
            for _ in _until(end, 0.1):
                connection.execute("select count(*), max(length(payload::text)) from signalbox.message").fetchone()
                connection.execute("select sum(cardinality(message_ids)) from signalbox.settled").fetchone()

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()


def _open_write(nemesis: Nemesis, end: float) -> None:
    """A transaction that has written and goes on: nothing newer can be vacuumed, and floors must pass it."""
    with nemesis.server.connect() as connection:
        connection.execute("begin")
        connection.execute("select signalbox.send('plain', '0')")
        time.sleep(max(0.0, end - time.monotonic()))
        connection.execute("rollback")


PHASES: dict[str, Doing] = {
    "PostgreSQL restarted": _restart,
    "backends killed, two a second": _kill_backends,
    f"{IDLE_CONNECTIONS} idle connections": _idle_connections,
    "crash and recovery": _crash,
    "killed again and again": _repeated_kills,
    "one old snapshot": _old_snapshots(1),
    "ten old snapshots": _old_snapshots(10),
    "two that scan all the time": _scans,
    "a write that stays open": _open_write,
}
