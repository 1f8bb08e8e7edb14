"""A dump taken under load is restored: its rows are of one moment, its sequences of later ones (hazard 1)."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from queues.database.embedded import binary
from tests.engine import Engine
from tests.races.floors import Floors
from tests.races.sessions import finish, start

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def restored_dsn(dsn: str, observer: psycopg.Connection[Any]) -> Iterator[str]:
    """An empty database on the same server."""
    observer.execute("create database restored template template0")
    yield make_conninfo(dsn, dbname="restored")
    observer.execute("drop database restored with (force)")


def dump_and_restore(dsn: str, restored_dsn: str) -> None:
    dump = subprocess.run([binary("pg_dump"), "--schema=signalbox", dsn], capture_output=True, check=True)
    subprocess.run(
        [binary("psql"), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--output=/dev/null", restored_dsn],
        input=dump.stdout,
        capture_output=True,
        check=True,
    )


def trade(trader: Engine, over: threading.Event) -> None:
    """Send and consume without pause."""
    while not over.is_set():
        trader.send("before, during or after", priority=5 if trader.connection.info.backend_pid % 2 else 0)
        trader.ack(*[row[1] for row in trader.receive(1)])


@pytest.mark.proof
def test_a_restored_dump_delivers_everything_it_holds(
    engine: Engine, connect: Connect, dsn: str, restored_dsn: str, make_floors: Callable[..., Floors]
) -> None:
    engine.die("dead")
    for number in range(50):
        engine.send(number, delay_seconds=0.001 if number % 5 == 0 else 0)
    engine.receive(5)
    floors, over = make_floors(engine), threading.Event()
    trading = [start(trade, engine.on(connect()), over) for _ in range(2)]
    keeping = start(lambda: [floors.tick() for _ in iter(over.is_set, True)])
    dump_and_restore(dsn, restored_dsn)
    over.set()
    for call in (*trading, keeping):
        finish(call)

    with psycopg.connect(restored_dsn, autocommit=True) as connection:
        restored = engine.on(connection)
        ready, scheduled, leased, dead, held = restored.recounted()
        assert restored.counted() == (ready, scheduled, leased, dead, held)
        # The leases and the leader's term end while the dump lies in its drawer.
        connection.execute("update signalbox.lease set deadline = '2020-01-01'")
        connection.execute("update signalbox.upkeep_leader set expires_at = '-infinity'")
        new = Floors(connection, restored)
        new.tick(1)
        received = set()
        while rows := restored.receive(100):
            received.update(row[0] for row in rows)
        assert len(received) == ready + scheduled + leased
        assert received <= {row[0] for row in restored.rows("select message_id from signalbox.message")}
        assert restored.send("first after the restore") > max(received)
        assert new.keeper.sweep() == 0
        # Other tests' queues are in the dump too: closed ones, and dead letters with a taken id.
        connection.execute("update signalbox.queue set closed = false, dedup_scope = 'window'")
        connection.execute(sql.SQL("select signalbox.redrive(array(select dead_letter_id from signalbox.dead_letter))"))
        assert restored.value("select count(*) from signalbox.dead_letter") == 0
