"""Connections to other cells, with a bound on every wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from queues.database import connections
from queues.errors import translated
from queues.fleet.directory import Cell
from signalbox.connections import primary_selection
from signalbox.fleet.map import address_of

CONNECT_SECONDS = 3
STATEMENT_SECONDS = 10


@contextmanager
def connected(cell: Cell) -> Iterator[psycopg.Connection[Any]]:
    """Lend an autocommit connection to a cell. Refusals are raised as errors of `queues.errors`."""
    with translated():
        connection = primary_selection.connect(_dsn(cell), autocommit=True, application_name="signalbox fleet")
        try:
            connection.execute(f"set statement_timeout = '{STATEMENT_SECONDS}s'".encode())
            yield connection
        finally:
            connection.close()


def _dsn(cell: Cell) -> str:
    """The address of a cell, with this cell's own user and password where it names none."""
    return make_conninfo(address_of(connections.dsn(), cell.url), connect_timeout=CONNECT_SECONDS)
