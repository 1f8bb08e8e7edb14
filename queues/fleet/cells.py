"""Connections to other cells, with a bound on every wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django import db
from django.db.utils import load_backend
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from queues.database import connections
from queues.database.url import settings_of
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


@contextmanager
def visiting(cell: Cell) -> Iterator[None]:
    """Lead Django's connection of this thread to a cell: models and verbs are then those of that cell.

    Raises an error in a transaction, since the transaction would stay open in this cell.
    """
    here = db.connections[db.DEFAULT_DB_ALIAS]
    if here.in_atomic_block:
        raise RuntimeError("a transaction is open in this cell")
    there = _wrapper(here, cell)
    db.connections[db.DEFAULT_DB_ALIAS] = there
    try:
        with translated():
            yield
    finally:
        there.close()
        db.connections[db.DEFAULT_DB_ALIAS] = here


def _wrapper(here: Any, cell: Cell) -> Any:
    """Make Django's connection to a cell, with the habits of the one to this cell."""
    parameters = {name: str(value) for name, value in conninfo_to_dict(_dsn(cell)).items()}
    parameters["options"] = f"{parameters.get('options', '')} -c statement_timeout={STATEMENT_SECONDS}s".strip()
    kept = {name: value for name, value in here.settings_dict.items() if name != "EMBEDDED_HOME"}
    settings = kept | settings_of(parameters)
    return load_backend(settings["ENGINE"]).DatabaseWrapper(settings, db.DEFAULT_DB_ALIAS)


def _dsn(cell: Cell) -> str:
    """The address of a cell, with this cell's own user and password where it names none."""
    return make_conninfo(address_of(connections.dsn(), cell.url), connect_timeout=CONNECT_SECONDS)
