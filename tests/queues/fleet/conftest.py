"""Two cells for tests: two migrated databases of the test server, with Django's connection to one."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from django.db import connection, connections
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from queues import fleet
from queues.database.embedded.server import DATABASE
from signalbox.fleet.client import FleetClient


@dataclass(frozen=True)
class Cells:
    """The addresses of the cells a and b; a is the home of the directory."""

    a: str
    b: str

    def connect(self, cell: str) -> psycopg.Connection[Any]:
        return psycopg.connect(getattr(self, cell), autocommit=True)

    @contextmanager
    def silent(self, cell: str) -> Iterator[None]:
        """Refuse connections to a cell while the block runs, and end those that it has."""
        name = conninfo_to_dict(getattr(self, cell))["dbname"]
        with psycopg.connect(make_conninfo(self.a, dbname="postgres"), autocommit=True) as server:
            allow = sql.SQL("alter database {} allow_connections {}")
            server.execute(allow.format(sql.Identifier(name), sql.SQL("false")))
            server.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [name])
            try:
                yield
            finally:
                server.execute(allow.format(sql.Identifier(name), sql.SQL("true")))

    def client(self) -> FleetClient:
        return FleetClient(self.a)


@pytest.fixture(scope="module")
def databases(dsn: str) -> Iterator[tuple[str, str]]:
    """Two copies of the migrated database of which the test database is a copy."""
    if os.environ.get("DATABASE_URL"):
        pytest.skip("copies the migrated database of the embedded server")
    names = [f"cell_{uuid.uuid4().hex[:8]}" for _ in range(2)]
    with psycopg.connect(make_conninfo(dsn, dbname="postgres"), autocommit=True) as server:
        for name in names:
            server.execute(f"create database {name} template {DATABASE} strategy file_copy".encode())
        yield names[0], names[1]
        for name in names:
            server.execute(f"drop database {name} with (force)".encode())


@pytest.fixture(scope="module")
def cells(databases: tuple[str, str], dsn: str, django_db_blocker: Any) -> Iterator[Cells]:
    """A fleet of two cells; Django's connection of this module leads to the cell a."""
    a, b = (make_conninfo(dsn, dbname=name) for name in databases)
    before = connection.settings_dict["NAME"]
    with ExitStack() as stack:
        stack.enter_context(django_db_blocker.unblock())
        connections.close_all()
        connection.settings_dict["NAME"] = databases[0]
        fleet.add_cell("a", a, actor="test")
        fleet.add_cell("b", b, actor="test")
        yield Cells(a, b)
        connections.close_all()
        connection.settings_dict["NAME"] = before
