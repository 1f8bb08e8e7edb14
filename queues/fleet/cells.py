"""Other cells, asked from this one: each by a connection of its own, with bounds on every wait.

A cell that does not answer is silent. What is known of it is this cell's copy of the directory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from queues.database import connections
from queues.database.query import query_text
from queues.errors import translated
from queues.fleet.directory import Cell, cells
from signalbox.connections import primary_selection
from signalbox.connections.unavailable import Unavailable
from signalbox.fleet.map import address_of

CONNECT_SECONDS = 3
STATEMENT_SECONDS = 10


@dataclass(frozen=True)
class Load:
    """The messages of a cell by state, and its traffic over the last ten seconds."""

    ready: int
    scheduled: int
    waiting: int
    leased: int
    dead: int
    sends_per_second: float
    receives_per_second: float


@dataclass(frozen=True)
class CellState:
    """One cell as it answered; a silent one has only what the directory says, and the error."""

    cell: Cell
    version: int | None = None
    """The version of its copy of the directory; None while it is silent."""
    age_seconds: float | None = None
    load: Load | None = None
    error: str = ""

    @property
    def state(self) -> str:
        """One word for lists: answers or silent."""
        return "silent" if self.error else "answers"


def states() -> list[CellState]:
    """Ask every cell for its state, one after the other, each within its bounds."""
    return [state_of(cell) for cell in cells()]


def state_of(cell: Cell) -> CellState:
    """Ask one cell for its state; a cell that does not answer is silent."""
    try:
        with connected(cell) as connection:
            known = connection.execute(query_text("fleet/directory").encode()).fetchone()
            load = connection.execute(query_text("fleet/load").encode()).fetchone()
    except (psycopg.Error, Unavailable) as error:
        return CellState(cell, error=str(error).strip().partition("\n")[0] or type(error).__name__)
    if known is None or load is None or known[0] != cell.name:
        return CellState(cell, error="its address leads to another database")
    return CellState(cell, version=known[2], age_seconds=known[3], load=Load(*load))


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
