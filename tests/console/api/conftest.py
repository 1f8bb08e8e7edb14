"""The API as it runs in earnest: a server of its own over the test database, and keys to call it with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from console.access.api_keys import keys
from tests.console.api.callers import Caller
from tests.console.api.worlds import CAPTURABLE, TENANT, World
from tests.console.servers import Server, console_server

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def api_server(dsn: str) -> Iterator[Server]:
    """One server for all tests of a process: they share nothing in it but the queues they name."""
    with console_server(dsn, CAPTURE_TABLES=f"{CAPTURABLE}@{TENANT}") as server:
        yield server


@pytest.fixture
def make_caller(api_server: Server, commits: None) -> Callable[..., Caller]:
    """A caller with a new key of these scopes."""

    def make(scopes: str = "*", **options: Any) -> Caller:
        name = f"api-test-{next(_numbers)}"
        return Caller(api_server.url, keys.create(name, scopes, actor="test", **options).text)

    return make


@pytest.fixture
def caller(make_caller: Callable[..., Caller]) -> Caller:
    """User who may do everything."""
    return make_caller()


@pytest.fixture
def stranger(api_server: Server) -> Caller:
    """Caller without an API key."""
    return Caller(api_server.url)


@pytest.fixture
def observer(connect: Callable[..., psycopg.Connection[Any]]) -> psycopg.Connection[Any]:
    """A connection that looks at what is in the database."""
    return connect()


@pytest.fixture
def world(caller: Caller, connect: Callable[..., psycopg.Connection[Any]]) -> World:
    """A queue of a tenant with something of everything."""
    return World(connect(), caller)
