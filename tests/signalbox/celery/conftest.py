"""A shop with a queue of its own, and real workers for it, which leave nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import psycopg
import pytest
from celery import Celery
from psycopg.conninfo import conninfo_to_dict

from tests.signalbox.celery.shop import TABLES, make_app

PROJECT = Path(__file__).resolve().parents[3]
WAIT_SECONDS = 150


def broker_url(dsn: str) -> str:
    """The database as a broker: what an application would write."""
    parameters = {name: value for name, value in conninfo_to_dict(dsn).items() if name != "options"}
    return f"signalbox:///?{urlencode(parameters)}"


def wait_until(happened: Callable[[], object], explain: Callable[[], object] = lambda: "it did not happen") -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not happened():
        assert time.monotonic() < deadline, explain()
        time.sleep(0.02)


@dataclass
class Worker:
    """A worker's process, with its log."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def children(self) -> list[int]:
        """Process ids of the worker's pool, the oldest first."""
        tasks = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in tasks.read_text().split()]

    def kill(self) -> None:
        """The worker and its pool, with no time for anything."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@dataclass
class Shop:
    """The application, its queue, and what its tasks noted."""

    dsn: str
    queue: str
    home: Path
    options: dict[str, Any] = field(default_factory=dict)
    conf: dict[str, Any] = field(default_factory=dict)
    broker: str = ""
    workers: list[Worker] = field(default_factory=list)
    _app: Celery | None = None
    _connection: psycopg.Connection[Any] | None = None

    @property
    def app(self) -> Celery:
        if self._app is None:
            self._app = make_app(self.url, self.queue, self.settings)
        return self._app

    @property
    def url(self) -> str:
        return self.broker or broker_url(self.dsn)

    @property
    def settings(self) -> dict[str, Any]:
        return {"broker_transport_options": self.options, **self.conf}

    def send(self, task: str, *arguments: Any, **options: Any) -> str:
        return str(self.app.tasks[f"shop.{task}"].apply_async(arguments, **options).id)

    def start_worker(self, *arguments: str) -> Worker:
        """A worker that is ready, killed at the end of the test at the latest."""
        name = f"{self.queue}-{len(self.workers)}@here"
        worker = self.start(name, "worker", "-n", name, "-l", "INFO", *(arguments or ("--concurrency=1",)))
        wait_until(lambda: "ready." in worker.said(), worker.said)
        return worker

    def start(self, name: str, *arguments: str) -> Worker:
        """A process of Celery's command line, killed at the end of the test at the latest."""
        log = self.home / f"{name}-{urlsplit(self.url).scheme}.log"
        shop = {"broker": self.url, "dsn": self.dsn, "queue": self.queue, "conf": self.settings}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", "tests.signalbox.celery.worker", *arguments],
                cwd=PROJECT,
                env={**os.environ, "SHOP": json.dumps(shop), "PYTHONPATH": str(PROJECT)},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        worker = Worker(name, process, log)
        self.workers.append(worker)
        return worker

    def rows(self, statement: str, *parameters: Any) -> list[Any]:
        """Rows of a statement that may run twice: a database that has just restarted ends connections."""
        for last in (False, True):
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(self.dsn, autocommit=True)
            try:
                cursor = self._connection.execute(statement, parameters)
                return cursor.fetchall() if cursor.description else []
            except psycopg.OperationalError:
                self._connection.close()
                if last:
                    raise
        raise AssertionError

    def done(self) -> list[str]:
        """Arguments of finished tasks, once for each execution."""
        return [
            row[0] for row in self.rows("select work from public.completion where queue = %s order by 1", self.queue)
        ]

    def begun(self) -> list[tuple[str, int]]:
        return self.rows("select work, pid from public.beginning where queue = %s", self.queue)

    def open_gate(self, name: str) -> None:
        self.rows("insert into public.gate values (%s, %s)", self.queue, name)

    def in_flight(self) -> int:
        """Messages of the queue that are anywhere but done or dead."""
        [(held,)] = self.rows(
            "select signalbox.depth(t.totals, 'ready') + signalbox.depth(t.totals, 'leased')"
            " + signalbox.depth(t.totals, 'scheduled') from signalbox.queue q"
            " cross join lateral signalbox.queue_totals(array[q.queue_id]) t where q.name = %s",
            self.queue,
        )
        return int(held)

    def receive_counts(self) -> list[int]:
        """Delivery in which each acknowledged message was acknowledged."""
        rows = self.rows(
            "select s.receive_counts from signalbox.settled s join signalbox.queue q using (queue_id)"
            " where q.name = %s",
            self.queue,
        )
        return sorted(count for row in rows for count in row[0])

    def dead(self) -> list[Any]:
        """Dead letters: (attributes, reason, error_class, error, receive_count, payload)."""
        return self.rows(
            "select attributes, reason, error_class, error, receive_count, payload from signalbox.dead_letter"
            " where source_queue = %s",
            self.queue,
        )

    def logs(self) -> str:
        return "\n".join(worker.said() for worker in self.workers)

    def wait_done(self, count: int) -> None:
        wait_until(lambda: len(self.done()) >= count, lambda: f"{len(self.done())} of {count}\n{self.logs()[-20000:]}")

    def wait_settled(self) -> None:
        wait_until(lambda: self.in_flight() == 0, lambda: f"{self.in_flight()} in flight\n{self.logs()[-20000:]}")

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
        if self._app is not None:
            self._app.close()
        if self._connection is not None:
            self._connection.close()


@pytest.fixture
def shop(dsn: str, tmp_path: Path) -> Iterator[Shop]:
    """A shop with leases that no slow machine loses; a test that waits for the end of one says how long they are."""
    opened = Shop(dsn, f"shop-{uuid.uuid4().hex[:8]}", tmp_path, {"visibility_timeout": 60.0})
    opened.rows(TABLES)
    yield opened
    opened.close()
