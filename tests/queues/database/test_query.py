"""Statements beside sessions that drop what they read."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from queues.database.query import fetch, named_rows

LOCK = 7_102_544_193


@pytest.mark.parametrize("read", [fetch, named_rows])
def test_a_statement_is_repeated_when_a_sequence_is_dropped_under_it(
    commits: None, connect: Callable[..., psycopg.Connection[Any]], read: Callable[..., list[Any]]
) -> None:
    """The statement sees the row of a sequence and waits for a lock; then the sequence and its row are dropped."""
    owner, name = connect(), f"listed_{uuid.uuid4().hex[:8]}"
    [(reader,)] = fetch("select pg_backend_pid()")
    owner.execute(f"create sequence {name}_one".encode())
    owner.execute(f"create table {name} as select '{name}_one'::regclass as counter".encode())
    owner.execute("select pg_advisory_lock(%s)", [LOCK])

    def drop() -> None:
        with owner.transaction():
            owner.execute(f"delete from {name}".encode())
            owner.execute(f"drop sequence {name}_one".encode())
            while owner.execute("select pg_blocking_pids(%s) = '{}'", [reader]).fetchone() == (True,):
                pass
        owner.execute("select pg_advisory_unlock(%s)", [LOCK])

    locked = f"select l.counter, pg_advisory_xact_lock_shared(%(lock)s) from {name} l offset 0"
    with ThreadPoolExecutor() as threads:
        dropping = threads.submit(drop)
        assert read(f"select pg_sequence_last_value(l.counter) from ({locked}) l", {"lock": LOCK}) == []
        dropping.result()
    owner.execute(f"drop table {name}".encode())
