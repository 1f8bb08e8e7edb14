"""Cost of work for the server: CPU time of all its processes, bytes of write-ahead log, wall time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil
import psycopg

from bench.pgbench import APPLICATION

REAP_POLL_SECONDS = 0.005


@dataclass
class Cost:
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    wal_bytes: int = 0


class Meter:
    """Reader of the costs of the server behind a connection."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        postmaster = psutil.Process(connection.info.backend_pid).parent()
        if postmaster is None:
            raise RuntimeError("the server does not run on this machine, so its CPU time cannot be read")
        self._postmaster = postmaster

    @contextmanager
    def measure(self) -> Iterator[Cost]:
        """Measure the block; the result is complete after the block, and pgbench must have ended by then."""
        cost = Cost()
        wal_bytes, cpu_seconds, started = self._wal_bytes(), self._cpu_seconds(), time.monotonic()
        yield cost
        cost.seconds = time.monotonic() - started
        cost.cpu_seconds = self._cpu_seconds() - cpu_seconds
        cost.wal_bytes = self._wal_bytes() - wal_bytes

    def _wal_bytes(self) -> int:
        return int(self._value("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"))

    def _cpu_seconds(self) -> float:
        """CPU time of the living processes, and of the postmaster with its reaped children.

        A process counts in exactly one of the two, so a process that starts or ends in between repeats the reading.
        """
        while True:
            self._wait_for_pgbench()
            children = self._postmaster.children()
            try:
                alive = sum(sum(child.cpu_times()[:2]) for child in children)
            except psutil.NoSuchProcess:
                continue
            with_reaped = sum(self._postmaster.cpu_times()[:4])
            if {child.pid for child in children} == {child.pid for child in self._postmaster.children()}:
                return alive + with_reaped

    def _wait_for_pgbench(self) -> None:
        """Wait for the server's backends: their costs count after the postmaster has reaped them."""
        while self._value(f"select count(*) from pg_stat_activity where application_name = '{APPLICATION}'"):
            time.sleep(REAP_POLL_SECONDS)

    def _value(self, query: str) -> int:
        row = self._connection.execute(query).fetchone()
        return row[0] if row else 0
