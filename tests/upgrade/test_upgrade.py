"""The release before is upgraded while its clients send and work: nothing is lost or fails, and both go on together."""

from __future__ import annotations

import gzip
import itertools
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from queues.embedded import binary
from tests.console.servers import environment_of
from tests.engine import Engine
from tests.upgrade.programs import PROJECT, TODAY, Notes, Sender, Worker
from tests.upgrade.record import CLIENT, SCHEMA

pytestmark = pytest.mark.timeout(900)

QUEUE = "orders"
PATIENCE_SECONDS = 300.0
GOVERNED = 25
"""Messages of each sender in each part of the story."""


@pytest.fixture
def released(dsn: str, connect: Callable[..., psycopg.Connection[Any]]) -> Iterator[str]:
    """The URL of a database as the release before has made it."""
    name = f"released_{uuid.uuid4().hex[:8]}"
    observer = connect()
    observer.execute(f"create database {name} template template0".encode())
    target = make_conninfo(dsn, dbname=name)
    subprocess.run(
        [binary("psql"), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--output=/dev/null", target],
        input=gzip.decompress(SCHEMA.read_bytes()),
        capture_output=True,
        check=True,
    )
    yield environment_of(target)["DATABASE_URL"]
    observer.execute(f"drop database {name} with (force)".encode())


def until(look: Callable[[], bool], meanwhile: Callable[[], object] = lambda: time.sleep(0.02)) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not look():
        assert time.monotonic() < deadline
        meanwhile()


def upgrade(url: str, home: Path, meanwhile: Callable[[], object]) -> None:
    """`manage.py migrate` of this tree, as docs/production.md says; `meanwhile` goes on until it has ended."""
    environment = environment_of(url) | {"DATABASE_URL": url, "SIGNALBOX_HOME": str(home)}
    with (home / "migrate.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "migrate", "--verbosity=0"],
            cwd=PROJECT,
            env=environment,
            stdout=log,
            stderr=log,
        )
        until(lambda: process.poll() is not None, meanwhile)
    assert process.returncode == 0, (home / "migrate.log").read_text()


def test_the_release_before_is_upgraded_while_its_clients_are_at_work(released: str, tmp_path: Path) -> None:
    with ExitStack() as ending, psycopg.connect(released, autocommit=True) as connection:
        row = connection.execute(
            "select signalbox.create_queue(%s, %s)",
            [QUEUE, Jsonb({"backoff_base_seconds": 0.05, "jitter": 0, "lane_max_in_flight": 3, "max_receives": 10})],
        ).fetchone()
        assert row is not None
        notes = Notes(tmp_path / "notes")

        def start(kind: Any, client: Path, label: str) -> Any:
            program = kind(released, client, QUEUE, label, tmp_path)
            ending.callback(program.process.kill)
            return program

        old_senders = [start(Sender, CLIENT, "old-1"), start(Sender, CLIENT, "old-2")]
        old_worker = start(Worker, CLIENT, "old")

        def send_by(senders: list[Sender]) -> None:
            for sender in senders:
                sender.send()

        for _ in range(GOVERNED):
            send_by(old_senders)
        until(lambda: notes.handled_by("old") > 0)

        upgrade(released, tmp_path, lambda: send_by(old_senders))

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
        while engine.value("select signalbox.fold()") is None:
            pass
        assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


def test_what_was_recorded_is_the_release_before(released: str) -> None:
    """Else the upgrade would be none, and prove nothing."""
    with psycopg.connect(released) as connection:
        applied = connection.execute("select count(*) from signalbox.django_migrations where app = 'queues'").fetchone()
    assert applied is not None
    assert 0 < applied[0] < len(list((PROJECT / "queues" / "migrations").glob("[0-9]*.py")))
