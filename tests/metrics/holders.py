"""Holders of an old xmin, made on purpose and let go at the end of the test."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import IsolationLevel, pq, sql
from psycopg.conninfo import make_conninfo

Connect = Callable[..., psycopg.Connection[Any]]

NO_XID = 0
STATUS = struct.Struct("!cqIIII")  # hot standby feedback: when, xmin and its epoch, catalog xmin and its epoch
POSTGRES_EPOCH = 946_684_800  # 2000-01-01 in Unix time


def forgotten_session(connect: Connect, **options: Any) -> psycopg.Connection[Any]:
    """Idle in a REPEATABLE READ transaction that has read and written nothing."""
    session = connect(autocommit=False, **options)
    session.isolation_level = IsolationLevel.REPEATABLE_READ
    session.execute("select 'forgotten'")
    return session


@contextmanager
def prepared_transaction(connect: Connect, gid: str) -> Iterator[None]:
    """A transaction whose manager has died after PREPARE TRANSACTION."""
    session = connect()
    session.execute("begin")
    session.execute("select pg_current_xact_id()")
    session.execute(sql.SQL("prepare transaction {}").format(gid))
    try:
        yield
    finally:
        session.execute(sql.SQL("rollback prepared {}").format(gid))


@contextmanager
def slot(connect: Connect, dsn: str, name: str, *, xmin: bool = True, catalog_xmin: bool = False) -> Iterator[None]:
    """A replication slot whose standby has reported a snapshot and gone away."""
    session = connect()
    this = f"select from pg_replication_slots where slot_name = '{name}'"
    session.execute("select pg_create_physical_replication_slot(%s, true)", [name])
    try:
        with _feedback(session, dsn, f"SLOT {name}", xmin=xmin, catalog_xmin=catalog_xmin):
            _wait_until(session, f"{this} and coalesce(xmin, catalog_xmin) is not null")
        _wait_until(session, f"{this} and not active")
        yield
    finally:
        session.execute("select pg_drop_replication_slot(%s)", [name])


@contextmanager
def standby(connect: Connect, dsn: str, name: str) -> Iterator[None]:
    """A standby without a slot that has reported a snapshot and stays connected."""
    session = connect()
    with _feedback(session, make_conninfo(dsn, application_name=name), "", xmin=True, catalog_xmin=False):
        _wait_until(session, "select from pg_stat_replication where backend_xmin is not null")
        yield


@contextmanager
def _feedback(
    session: psycopg.Connection[Any], dsn: str, source: str, *, xmin: bool, catalog_xmin: bool
) -> Iterator[None]:
    """A connection that begins to replicate, as a standby does, and says which snapshot it needs."""
    row = session.execute(
        "select pg_snapshot_xmax(pg_current_snapshot())::text::bigint, pg_current_wal_lsn()::text"
    ).fetchone()
    assert row is not None
    next_xid, position = row
    epoch, xid = divmod(next_xid, 2**32)
    wire = pq.PGconn.connect(make_conninfo(dsn, replication="true").encode())
    assert wire.status == pq.ConnStatus.OK, wire.error_message
    started = wire.exec_(f"START_REPLICATION {source} PHYSICAL {position}".encode())
    assert started.status == pq.ExecStatus.COPY_BOTH, started.error_message
    microseconds = int((time.time() - POSTGRES_EPOCH) * 1e6)
    held = [number for wanted in (xmin, catalog_xmin) for number in ((xid, epoch) if wanted else (NO_XID, 0))]
    wire.put_copy_data(STATUS.pack(b"h", microseconds, *held))
    wire.flush()
    try:
        yield
    finally:
        wire.finish()


def _wait_until(session: psycopg.Connection[Any], question: str) -> None:
    give_up_at = time.monotonic() + 120
    while session.execute(question).fetchone() is None:  # type: ignore[arg-type]
        assert time.monotonic() < give_up_at, question
        time.sleep(0.02)
