"""Faults of the soak. Processes that are checked for leaks live on; the rest may be killed."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psutil
import psycopg

from queues.database.embedded import EmbeddedPostgres
from tests.proof.demo.running import Demo

PAUSE_SECONDS = (15.0, 45.0)
OURS = "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"
MORTAL = ("console.demo.producers", "console.demo.workers", "console.demo.streams")
STOPPABLE = ("manage.py upkeep", "alerts evaluate", "console.demo.workers", "celery -A console")
TABLES = ("ready", "lease", "counter_delta", "queue")


class Faults:
    """One after the other; `done` counts them by kind."""

    def __init__(self, demo: Demo, dice: random.Random) -> None:
        self.demo, self.dice = demo, dice
        self.server = EmbeddedPostgres(demo.home)
        self.done: Counter[str] = Counter()
        self.kinds: dict[str, Callable[[], object]] = {
            "kill -9 of workers, producers or readers": self._kill,
            "a process stopped for ten seconds": self._stop,
            "all sessions terminated": lambda: self._run(f"select pg_terminate_backend(pid) from ({OURS}) b"),
            "all statements cancelled": lambda: self._run(f"select pg_cancel_backend(pid) from ({OURS}) b"),
            "a table locked for five seconds": self._lock,
            "a snapshot held for half a minute": self._hold_a_snapshot,
            "kill -9 of a server's session": self._kill_backend,
            "kill -9 of the postmaster": self._kill_postmaster,
        }

    def next(self) -> None:
        """Wait a while, and let one happen."""
        time.sleep(self.dice.uniform(*PAUSE_SECONDS))
        kind = self.dice.choice(list(self.kinds))
        self.kinds[kind]()
        self.done[kind] += 1

    def _one_of(self, commands: tuple[str, ...]) -> psutil.Process:
        return self.dice.choice(self.demo.running(self.dice.choice(commands)))

    def _kill(self) -> None:
        self._one_of(MORTAL).kill()

    def _stop(self) -> None:
        victim = self._one_of(STOPPABLE)
        victim.suspend()
        try:
            time.sleep(10)
        finally:
            victim.resume()

    def _lock(self) -> None:
        with self._connect() as connection, connection.transaction():
            connection.execute(f"lock table signalbox.{self.dice.choice(TABLES)}")
            time.sleep(5)

    def _hold_a_snapshot(self) -> None:
        with self._connect() as connection, connection.transaction():
            connection.execute("set transaction isolation level repeatable read")
            connection.execute("select count(*) from signalbox.queue")
            time.sleep(30)

    def _kill_backend(self) -> None:
        with self._connect() as connection:
            pids = [row[0] for row in connection.execute(OURS)]
            os.kill(self.dice.choice(pids), signal.SIGKILL)

    def _kill_postmaster(self) -> None:
        pid = (self.server.folders.data / "postmaster.pid").read_text().split("\n", 1)[0]
        os.kill(int(pid), signal.SIGKILL)

    def _run(self, statement: str) -> None:
        with self._connect() as connection, suppress(psycopg.OperationalError):
            connection.execute(statement.encode())

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.server.url(), autocommit=True, connect_timeout=10)
