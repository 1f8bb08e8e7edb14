"""What a stretch of work costs the server: CPU time of all its processes, bytes of write-ahead log, wall time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil
import psycopg

REAP_SECONDS = 0.005


@dataclass
class Cost:
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    wal_bytes: int = 0


class Meter:
    """Reads the costs of the server behind a connection; that connection's own backend counts too."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        parent = psutil.Process(connection.info.backend_pid).parent()
        assert parent is not None  # a backend's parent is the postmaster
        self._postmaster = parent

    @contextmanager
    def measure(self) -> Iterator[Cost]:
        """The cost of the block, known after it. Clients of the block must have disconnected at its end."""
        cost = Cost()
        wal, cpu, started = self._wal(), self._cpu_seconds(), time.monotonic()
        yield cost
        cost.seconds = time.monotonic() - started
        cost.cpu_seconds = self._cpu_seconds() - cpu
        cost.wal_bytes = self._wal() - wal

    def _wal(self) -> int:
        row = self._connection.execute("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')").fetchone()
        return int(row[0])

    def _cpu_seconds(self) -> float:
        """The postmaster with the children it has reaped, and the living ones: a process is always in one of the two.

        Read again when a process came or went meanwhile, so that none is counted twice or not at all.
        """
        while True:
            self._wait_for_clients()
            before = self._postmaster.children()
            try:
                alive = sum(sum(child.cpu_times()[:2]) for child in before)
            except psutil.NoSuchProcess:
                continue
            ended = sum(self._postmaster.cpu_times()[:4])
            if {child.pid for child in before} == {child.pid for child in self._postmaster.children()}:
                return alive + ended

    def _wait_for_clients(self) -> None:
        while self._connection.execute(
            "select exists (select from pg_stat_activity where application_name = 'pgbench')"
        ).fetchone() == (True,):
            time.sleep(REAP_SECONDS)
