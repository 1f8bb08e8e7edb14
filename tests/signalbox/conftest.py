"""The client over the migrated test database, with real commits, and queues of a test's own."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from signalbox import Client
from tests.console.api_keys.keys import new_key
from tests.console.servers import Server, console_server
from tests.ports import free_port
from tests.signalbox.worker.workers import Notes, WorkerProcess, handler_starter, worker_starter

_numbers = itertools.count(1)


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        yield client


@pytest.fixture(scope="session")
def api_server(dsn: str) -> Iterator[Server]:
    """One server for all tests of a process."""
    with console_server(dsn) as server:
        yield server


@pytest.fixture
def api_address(api_server: Server, commits: None) -> tuple[str, str]:
    """Address of the server, and a key that may do everything."""
    return api_server.url, new_key("*").text


@pytest.fixture
def connection(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """A caller's own connection, in a transaction until it commits."""
    with psycopg.connect(dsn) as connection:
        yield connection
        connection.rollback()


@pytest.fixture
def make_queue(client: Client) -> Callable[..., str]:
    """A new queue with these settings; its name."""

    def make(**settings: object) -> str:
        name = f"client-test-{next(_numbers)}"
        client.create_queue(name, settings)
        return name

    return make


@pytest.fixture
def queue(make_queue: Callable[..., str]) -> str:
    return make_queue()


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path / "notes")


@pytest.fixture
def start_worker(dsn: str, tmp_path: Path) -> Iterator[Callable[..., WorkerProcess]]:
    with worker_starter(tmp_path, DATABASE_URL=dsn) as start:
        yield handler_starter(start)


@pytest.fixture
def start_app(dsn: str, tmp_path: Path) -> Iterator[Callable[..., WorkerProcess]]:
    """Start a worker of all that a module handles."""
    with worker_starter(tmp_path, DATABASE_URL=dsn) as start:
        yield lambda app, **options: start(app=app, **options)


@pytest.fixture
def failures(dsn):
    """The failures recorded for a message: (reason, error_class, error, details), oldest first."""

    def look(message_id):
        with psycopg.connect(dsn) as connection:
            return connection.execute(
                "select reason, error_class, error, details from signalbox.failure"
                " where message_id = %s order by failure_id",
                [message_id],
            ).fetchall()

    return look


@pytest.fixture
def dead_letter(dsn):
    def look(message_id):
        with psycopg.connect(dsn) as connection:
            return connection.execute(
                "select reason, error_class, error, details, receive_count from signalbox.dead_letter"
                " where message_id = %s",
                [message_id],
            ).fetchone()

    return look


@pytest.fixture
def held(dsn):
    """Number of messages of a queue in all states."""

    def look(queue):
        with psycopg.connect(dsn) as connection:
            (count,) = connection.execute(
                "select count(*) from signalbox.message_status join signalbox.queue using (queue_id)"
                " where name = %s and status <> 'completed'",
                [queue],
            ).fetchone()
        return count

    return look


@pytest.fixture
def connected(dsn):
    """Number of connections of a queue's worker."""

    def look(queue):
        with psycopg.connect(dsn) as connection:
            (count,) = connection.execute(
                "select count(*) from pg_stat_activity where application_name = %s", [f"signalbox worker {queue}"]
            ).fetchone()
        return count

    return look


@pytest.fixture
def lease(dsn):
    """Time of a message's lease, and its end."""

    def look(message_id):
        with psycopg.connect(dsn) as connection:
            return connection.execute(
                "select leased_at, deadline from signalbox.lease where message_id = %s", [message_id]
            ).fetchone()

    return look


@pytest.fixture
def listening(dsn):
    def look():
        with psycopg.connect(dsn) as connection:
            return connection.execute(
                "select pid from pg_stat_activity where state = 'idle'"
                " and application_name = 'signalbox listener' and query like 'listen %'"
            ).fetchone()

    return look


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """The URL of a real Redis, which keeps nothing."""
    program = shutil.which("redis-server")
    assert program, "tests/system_packages.sh installs it"
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    with subprocess.Popen([program, *options], stdout=subprocess.PIPE) as server:
        assert server.stdout
        assert any(b"Ready to accept connections" in line for line in server.stdout)
        yield f"redis://127.0.0.1:{port}/0"
        server.terminate()
