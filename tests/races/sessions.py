"""Several sessions in a chosen order: calls in threads of their own, and a look at who waits for whom.

No test sleeps to let something happen: it waits until PostgreSQL says that it has, and a deadline turns a hang into a
failure that names what never came.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

import psycopg

DEADLINE_SECONDS = 90.0
POLL_SECONDS, LONGEST_POLL_SECONDS = 0.002, 0.05
POLLS_GROW = 1.2
"""A session that polls all the time takes CPU from the sessions for which it waits."""

T = TypeVar("T")


def start(call: Callable[..., T], *arguments: Any, **options: Any) -> Future[T]:
    """Make the call in a thread of its own; `finish` gives its result."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call(*arguments, **options))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def finish(future: Future[T]) -> T:
    """The result of a call that was started, or its error."""
    return future.result(DEADLINE_SECONDS)


def until(condition: Callable[[], T], what: str) -> T:
    """Ask again and again until the answer is true."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    pause = POLL_SECONDS
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(pause)
        pause = min(pause * POLLS_GROW, LONGEST_POLL_SECONDS)
    return answer


def until_waiting(observer: psycopg.Connection[Any], *sessions: psycopg.Connection[Any]) -> None:
    """Return when each of these sessions waits for a lock that another holds."""
    for session in sessions:
        pid = session.info.backend_pid
        until(lambda pid=pid: blockers(observer, pid), f"session {pid} waiting for a lock")


def until_no_vacuum_writes(observer: psycopg.Connection[Any]) -> None:
    """Return when no autovacuum worker has a transaction open that writes, such as one that stores statistics."""
    writing = "select 1 from pg_stat_activity where backend_type = 'autovacuum worker' and backend_xid is not null"
    until(lambda: observer.execute(writing).fetchone() is None, "the end of what autovacuum writes")


def blockers(observer: psycopg.Connection[Any], pid: int) -> list[int]:
    """The sessions that this one waits for; a vacuum that happens to cut a table short steps aside by itself."""
    rows = observer.execute(
        "select pid from unnest(pg_blocking_pids(%s)) pid join pg_stat_activity using (pid)"
        " where backend_type = 'client backend'",
        [pid],
    ).fetchall()
    return [row[0] for row in rows]
