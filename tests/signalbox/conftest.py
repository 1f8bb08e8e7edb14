"""The client over the migrated test database, with real commits, and queues of a test's own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from signalbox import Client
from tests.signalbox.workers import Notes, WorkerProcess, worker_starter

_numbers = itertools.count(1)


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        yield client


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
    with worker_starter(dsn, tmp_path) as start:
        yield start
