"""One look at everything that could leak: memory, descriptors and threads by process, sessions, bytes of tables."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import psutil
import psycopg

from queues.database.embedded import EmbeddedPostgres
from tests.proof.demo.running import Demo

ROLES = {
    "console.asgi": "console",
    "manage.py upkeep": "upkeep",
    "celery -A console": "jobs",
    "alerts evaluate": "alerts",
    "console.demo.workers": "workers",
    "signalbox.worker": "workers",
    "console.demo.producers": "producers",
    "console.demo.streams": "stream readers",
    "manage.py demo": "supervisor",
    "queues.database.embedded.keeper": "keeper of the server",
}
SERVER, PIPELINE = "server", "pipeline"
MEBIBYTE = 2**20

# Rows come and go here, and nothing stays: whatever these tables take beyond a while is bloat.
HOT = (
    "('ready', 'scheduled', 'lease', 'counter_delta', 'counter', 'claim_floor', 'queue', 'consumer', 'dedup_in_flight')"
)
LOOK = f"""
with hot as (
  select c.oid, c.relname from pg_class c
  where c.relnamespace = 'signalbox'::regnamespace and c.relkind in ('r', 'p') and c.relname in {HOT}
)
select
  (select sum(pg_total_relation_size(oid)) from hot),
  (select sum(s.n_dead_tup) from pg_stat_user_tables s join hot on hot.oid = s.relid),
  (select sum(pg_total_relation_size(oid)) from pg_class
   where relnamespace = 'pg_catalog'::regnamespace and relkind = 'r'),
  (select count(*) from pg_class where relnamespace = 'signalbox'::regnamespace),
  pg_database_size(current_database()),
  (select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()),
  (select last_value from signalbox.message_id)
"""


@dataclass
class Sample:
    """`memory_mb` is proportional set size: shared pages are counted once."""

    seconds: float
    memory_mb: Counter[str] = field(default_factory=Counter)
    descriptors: Counter[str] = field(default_factory=Counter)
    threads: Counter[str] = field(default_factory=Counter)
    database: dict[str, float] = field(default_factory=dict)
    """Empty where the server did not answer."""

    def in_brief(self) -> str:
        memory = " ".join(f"{role} {size:.0f}" for role, size in sorted(self.memory_mb.items()))
        return f"{self.seconds:.0f} s: {memory} | {self.database}"


class Observer:
    def __init__(self, demo: Demo) -> None:
        self.demo = demo
        self.server = EmbeddedPostgres(demo.home)

    def look(self, seconds: float) -> Sample:
        """Wait up to a minute until the server answers again."""
        sample = Sample(seconds)
        for process in self.demo.processes():
            _add(sample, _role(process), process)
        for process in self._server_processes():
            _add(sample, SERVER, process)
        deadline = time.monotonic() + 60
        while not sample.database and time.monotonic() < deadline:
            sample.database = self._of_the_server()
        return sample

    def _server_processes(self) -> list[psutil.Process]:
        """The postmaster and its children, who know nothing of this home where they have an account of their own."""
        try:
            pid = int((self.server.folders.data / "postmaster.pid").read_text().split("\n", 1)[0])
            postmaster = psutil.Process(pid)
            return [postmaster, *postmaster.children(recursive=True)]
        except (OSError, ValueError, psutil.Error):
            return []

    def _of_the_server(self) -> dict[str, float]:
        try:
            with psycopg.connect(self.server.url(), autocommit=True, connect_timeout=10) as connection:
                row: Any = connection.execute(LOOK.encode()).fetchone()
        except psycopg.OperationalError:
            time.sleep(1)
            return {}
        hot, dead, catalog, relations, whole, sessions, messages = (float(number or 0) for number in row)
        return {
            "hot tables MB": hot / MEBIBYTE,
            "dead rows of hot tables": dead,
            "catalog MB": catalog / MEBIBYTE,
            "relations": relations,
            "database MB": whole / MEBIBYTE,
            "sessions": sessions,
            "messages": messages,
        }


def _add(sample: Sample, role: str, process: psutil.Process) -> None:
    try:
        memory = process.memory_full_info().pss / MEBIBYTE
        counts = process.num_fds(), process.num_threads()
    except psutil.Error:
        return  # it has just ended
    sample.memory_mb[role] += memory
    sample.descriptors[role] += counts[0]
    sample.threads[role] += counts[1]


def _role(process: psutil.Process) -> str:
    try:
        command = " ".join(process.cmdline())
    except psutil.Error:
        return PIPELINE
    return next((role for words, role in ROLES.items() if words in command), PIPELINE)
