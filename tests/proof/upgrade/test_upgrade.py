"""The release before is upgraded while its clients send and work: nothing is lost or fails, and both go on together.

Until the first release it is an installation at the first migrations, whose scripts are all installed again.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from queues.database.sql_scripts import INSTALL_LOCK, SCRIPTS
from tests.engine import Engine
from tests.proof.upgrade.conftest import OUTDATED
from tests.proof.upgrade.programs import PROJECT, TODAY, Notes, Sender, Worker
from tests.proof.upgrade.record import MIGRATIONS, RELEASED, SIGNATURES, released_migrations

pytestmark = pytest.mark.timeout(900)

QUEUE = "orders"
PATIENCE_SECONDS = 300.0
GOVERNED = 25
"""Messages of each sender in each part of the story."""

NEWEST = "select app, max(name) from signalbox.django_migrations group by app"

Migrating = Callable[[str], "subprocess.Popen[bytes]"]


def until(look: Callable[[], bool], meanwhile: Callable[[], object] = lambda: time.sleep(0.02)) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not look():
        assert time.monotonic() < deadline
        meanwhile()


def finish(process: subprocess.Popen[bytes], home: Path, meanwhile: Callable[[], object]) -> None:
    """Wait for a migration to end well; `meanwhile` goes on until it has ended."""
    until(lambda: process.poll() is not None, meanwhile)
    assert process.returncode == 0, (home / "migrate.log").read_text()


def test_the_release_before_is_upgraded_while_its_clients_are_at_work(
    released: str, released_client: Path, migrating: Migrating, tmp_path: Path
) -> None:
    with ExitStack() as ending, psycopg.connect(released, autocommit=True) as connection:
        row = connection.execute(
            "select signalbox.create_queue(%s, %s)",
            [QUEUE, Jsonb({"backoff_base_seconds": 0.05, "jitter": 0, "group_max_in_flight": 3, "max_receives": 10})],
        ).fetchone()
        assert row is not None
        notes = Notes(tmp_path / "notes")

        def start(kind: Any, client: Path, label: str) -> Any:
            program = kind(released, client, QUEUE, label, tmp_path)
            ending.callback(program.process.kill)
            return program

        old_senders = [start(Sender, released_client, "old-1"), start(Sender, released_client, "old-2")]
        old_worker = start(Worker, released_client, "old")

        def send_by(senders: list[Sender]) -> None:
            for sender in senders:
                sender.send()

        for _ in range(GOVERNED):
            send_by(old_senders)
        until(lambda: notes.handled_by("old") > 0)

        finish(migrating(released), tmp_path, lambda: send_by(old_senders))
        assert outdated(connection) == 0

        while_upgrading = sum(len(sender.sent) for sender in old_senders) - 2 * GOVERNED
        assert while_upgrading > 0
        new_sender, new_worker = start(Sender, TODAY, "new-1"), start(Worker, TODAY, "new")
        senders = [*old_senders, new_sender]
        before = notes.handled_by("old")
        for _ in range(GOVERNED):
            send_by(senders)
        until(
            lambda: notes.handled_by("old") > before and notes.handled_by("new") > 0,
            lambda: (send_by(senders), time.sleep(0.02)),
        )

        sent = list(itertools.chain.from_iterable(sender.sent for sender in senders))
        assert [sender.end() for sender in senders] == [0, 0, 0]
        until(lambda: len(notes.handled()) >= len(sent))
        assert [worker.end() for worker in (old_worker, new_worker)] == [0, 0]

        assert sorted(notes.handled()) == sorted(sent)  # each once: no lease ran out
        for worker in (old_worker, new_worker):
            said = worker.log.read_text()
            assert "Traceback" not in said.replace("RuntimeError: not yet", ""), said
        engine = Engine(connection, QUEUE, row[0])
        while engine.value("select signalbox.aggregate_counters()") is None:
            pass
        assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


def test_what_was_recorded_is_the_release_before(released: str) -> None:
    """Start at the recorded migrations, with every script outdated: otherwise the upgrade would change nothing."""
    with psycopg.connect(released) as connection:
        applied = dict(connection.execute(NEWEST).fetchall())
        to_replace = outdated(connection)

    assert released_migrations().items() <= applied.items()
    assert to_replace == len(list(SCRIPTS.rglob("*.sql"))) > 0


def test_a_migration_that_was_recorded_stays(recorded: Path) -> None:
    """Keep every migration that an installation may have applied: without it, no upgrade starts."""
    for folder in (recorded, RELEASED):
        for app, name in json.loads((folder / MIGRATIONS).read_text()).items():
            assert (PROJECT / app / "migrations" / f"{name}.py").exists()


def test_an_upgrade_that_is_killed_leaves_the_release_before_at_work(
    released: str, released_client: Path, migrating: Migrating, tmp_path: Path
) -> None:
    """Keep the scripts as they were and clients at work; the next `migrate` installs today's scripts."""
    with ExitStack() as ending, psycopg.connect(released, autocommit=True) as connection:
        connection.execute("select signalbox.create_queue(%s)", [QUEUE])
        sender = Sender(released, released_client, QUEUE, "old", tmp_path)
        ending.callback(sender.process.kill)
        before = outdated(connection)
        connection.execute("select pg_advisory_lock(%s)", [INSTALL_LOCK])
        process = migrating(released)
        until(lambda: is_waited_for(connection), sender.send)
        process.kill()
        process.wait()
        connection.execute("select pg_advisory_unlock(%s)", [INSTALL_LOCK])

        assert outdated(connection) == before > 0
        finish(migrating(released), tmp_path, sender.send)
        assert outdated(connection) == 0
        sender.send()
        assert sender.end() == 0
        ready = connection.execute("select message_id from signalbox.ready").fetchall()
        assert sorted(message_id for (message_id,) in ready) == sender.sent


def test_a_first_migrate_that_is_killed_is_completed_by_the_next(
    empty: str, another: str, migrating: Migrating, tmp_path: Path
) -> None:
    """Kill it with its tables made and its functions missing; the next one leaves a whole installation."""
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("select pg_advisory_lock(%s)", [INSTALL_LOCK])
        process = migrating(empty)
        until(lambda: is_waited_for(connection))
        process.kill()
        process.wait()
        connection.execute("select pg_advisory_unlock(%s)", [INSTALL_LOCK])
        assert connection.execute("select from signalbox.sql_script").rowcount == 0

        finish(migrating(empty), tmp_path, lambda: time.sleep(0.02))
    finish(migrating(another), tmp_path, lambda: time.sleep(0.02))

    assert described(empty) == described(another)


def test_an_upgrade_repairs_what_was_changed_by_hand(released: str, migrating: Migrating, tmp_path: Path) -> None:
    """Replace a function and drop a trigger, although their scripts are today's: both are back after `migrate`."""
    finish(migrating(released), tmp_path, lambda: time.sleep(0.02))
    expected = described(released)
    with psycopg.connect(released) as connection:
        connection.execute(
            "create or replace function signalbox.clock_ahead_seconds() returns double precision language sql as"
            " 'select 0::double precision'"
        )
        connection.execute("drop trigger audit_keep on signalbox.audit_event")
    assert described(released) != expected

    finish(migrating(released), tmp_path, lambda: time.sleep(0.02))

    assert described(released) == expected


DESCRIPTIONS = (
    "select app, name from signalbox.django_migrations",
    "select name, checksum from signalbox.sql_script",
    """select c.relname, c.relkind, c.reloptions, a.attname, a.attnum, a.attnotnull,
      format_type(a.atttypid, a.atttypmod)
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'signalbox'::regnamespace and not c.relispartition and c.relkind not in ('i', 'I')""",
    "select pg_get_functiondef(p.oid) from pg_proc p where p.pronamespace = 'signalbox'::regnamespace",
    "select pg_get_triggerdef(t.oid) from pg_trigger t where not t.tgisinternal and t.tgparentid = 0",
    SIGNATURES,
)


def described(url: str) -> list[list[str]]:
    """List the migrations, scripts, columns, functions and triggers of a database, without partitions by time."""
    with psycopg.connect(url) as connection:
        return [sorted(map(str, connection.execute(statement).fetchall())) for statement in DESCRIPTIONS]


def outdated(connection: psycopg.Connection[Any]) -> int:
    """Count the scripts that are those of the release before."""
    row = connection.execute("select count(*) from signalbox.sql_script where checksum = %s", [OUTDATED]).fetchone()
    assert row is not None
    return int(row[0])


def is_waited_for(connection: psycopg.Connection[Any]) -> bool:
    """Tell whether a process waits for the lock of those who install scripts."""
    statement = "select from pg_locks where locktype = 'advisory' and objid = %s and not granted"
    return connection.execute(statement, [INSTALL_LOCK]).rowcount > 0
