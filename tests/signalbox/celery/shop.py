"""A Celery application as anybody may have one, and what its tasks leave behind: a row for each at its end."""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Callable
from typing import Any

import psycopg
from celery import Celery
from celery.exceptions import Reject

import signalbox.celery  # noqa: F401 - a checkout has no entry points

TABLES = """
create table if not exists public.completion (queue text not null, work text not null, pid integer not null);
create table if not exists public.beginning (queue text not null, work text not null, pid integer not null);
create table if not exists public.gate (queue text not null, name text not null);
"""


class NotYetError(Exception):
    """Error of a task that will be retried."""


def make_app(broker: str, queue: str, conf: dict[str, Any]) -> Celery:
    """The application, with its tasks, for one queue of its own."""
    app = Celery("shop", broker=broker, set_as_current=False)
    app.conf.update(
        task_default_queue=queue,
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        worker_cancel_long_running_tasks_on_connection_loss=False,
    )
    app.conf.update(conf)
    for function, options in TASKS.items():
        app.task(shared=False, name=f"shop.{function.__name__}", **options)(function)
    return app


def work(name: str) -> str:
    notes().end(name)
    return name


def wait(name: str) -> None:
    """Wait until the gate of the task opens."""
    notes().begin(name)
    notes().wait_for_gate(name)
    notes().end(name)


def refuse(name: str) -> None:
    notes().begin(name)
    raise Reject(f"{name} cannot be done", requeue=False)


def fail(name: str) -> None:
    notes().begin(name)
    raise ValueError(f"{name} is wrong")


def die(name: str) -> None:
    """The end of its process, unless the gate is open."""
    notes().begin(name)
    if not notes().is_open(name):
        os.kill(os.getpid(), 9)
    notes().end(name)


def stumble(self: Any, name: str, times: int) -> None:
    if self.request.retries < times:
        raise NotYetError(name)
    notes().end(name)


def retry(self: Any, name: str, countdown: float) -> None:
    notes().begin(name)
    if self.request.retries < 1:
        raise self.retry(countdown=countdown)
    notes().end(name)


def add(left: int, right: int) -> int:
    return left + right


def total(numbers: list[int], name: str) -> int:
    notes().end(f"{name} {sum(numbers)}")
    return sum(numbers)


TASKS: dict[Callable[..., Any], dict[str, Any]] = {
    work: {},
    wait: {},
    refuse: {},
    fail: {},
    die: {},
    stumble: {"bind": True, "autoretry_for": (NotYetError,), "retry_backoff": False, "default_retry_delay": 0.1},
    retry: {"bind": True, "max_retries": 3},
    add: {"ignore_result": False},
    total: {"ignore_result": False},
}


class Notes:
    """The tables, over one connection for each process."""

    def __init__(self, dsn: str, queue: str) -> None:
        self._dsn = dsn
        self._queue = queue
        self._connection: psycopg.Connection[Any] | None = None
        self._owner = 0

    def run(self, statement: str, *parameters: Any) -> list[Any]:
        """Record a task, waiting for a database that restarts or is read-only now.

        A task that raised instead would be acked for it, and would look like one that was acked and never ran.
        """
        while True:
            try:
                if self._connection is None or self._owner != os.getpid() or self._connection.closed:
                    self._connection, self._owner = psycopg.connect(self._dsn, autocommit=True), os.getpid()
                cursor = self._connection.execute(statement, parameters)
                return cursor.fetchall() if cursor.description else []
            except (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction):
                self._connection = None
                time.sleep(0.1)

    def begin(self, work: str) -> None:
        self.run("insert into public.beginning values (%s, %s, %s)", self._queue, work, os.getpid())

    def end(self, work: str) -> None:
        self.run("insert into public.completion values (%s, %s, %s)", self._queue, work, os.getpid())

    def is_open(self, name: str) -> bool:
        return bool(self.run("select 1 from public.gate where queue = %s and name = %s", self._queue, name))

    def wait_for_gate(self, name: str) -> None:
        while not self.is_open(name):
            time.sleep(0.02)


@functools.cache
def notes() -> Notes:
    """Process ids of a worker or of its children."""
    given = json.loads(os.environ["SHOP"])
    return Notes(given["dsn"], given["queue"])


def of_environment() -> Celery:
    """Command line of a worker process."""
    given = json.loads(os.environ["SHOP"])
    return make_app(given["broker"], given["queue"], given["conf"])
