"""One server for the tests of this folder, which leave it as they found it: running, and taking writes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from signalbox import Client
from tests.console.servers import Server, console_server
from tests.proof.outages.own_server import OwnServer
from tests.proof.outages.visitors import Visitor
from tests.signalbox.worker.workers import Notes, WorkerProcess, handler_starter, worker_starter

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def one_server() -> Iterator[OwnServer]:
    with OwnServer() as server:
        server.administrator()
        yield server


@pytest.fixture
def server(one_server: OwnServer) -> Iterator[OwnServer]:
    """Server that runs, and runs again afterwards."""
    one_server.start()
    yield one_server
    one_server.start()
    one_server.set_read_only(False)


@pytest.fixture(scope="session")
def key(one_server: OwnServer) -> str:
    return one_server.key("outages")


@pytest.fixture(scope="session")
def one_console(one_server: OwnServer) -> Iterator[Server]:
    with console_server(one_server.url, METRICS_MAX_SERIES="100000") as console:
        yield console


@pytest.fixture
def visitor(server: OwnServer, one_console: Server) -> Iterator[Visitor]:
    """An administrator who is logged in."""
    with Visitor(one_console.url) as visitor:
        assert visitor.log_in("ada").status_code == 302
        yield visitor


@pytest.fixture
def client(server: OwnServer) -> Iterator[Client]:
    with Client(server.url) as client:
        yield client


@pytest.fixture
def queue(client: Client) -> str:
    name = f"outage-{next(_numbers)}"
    client.create_queue(name)
    return name


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path / "notes")


@pytest.fixture
def start_worker(server: OwnServer, tmp_path: Path) -> Iterator[Callable[..., WorkerProcess]]:
    with worker_starter(tmp_path, DATABASE_URL=server.url) as start:
        yield handler_starter(start)
