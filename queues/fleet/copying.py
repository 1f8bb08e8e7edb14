"""Copies of the directory: its home sends changes to every cell, and a cell never replaces an entry by an older one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg

from queues.database.query import fetch, query_text
from queues.errors import SignalboxError
from queues.fleet.cells import connected
from queues.fleet.directory import Cell, cells, get_directory
from signalbox.connections.unavailable import Unavailable


@dataclass(frozen=True)
class Copied:
    """The version that a cell has now, or the error that kept the cell from getting the new one."""

    cell: str
    version: int | None
    error: str = ""


def copy_to_all() -> list[Copied]:
    """Bring the directory to every other cell. Call it in the home, after the change was committed."""
    here = get_directory()
    return [_try_copy(cell) for cell in cells() if cell.name != here.cell]


def copy_to(cell: Cell) -> int:
    """Bring the directory to one cell; returns the version that it has then. Raises errors of the cell."""
    with connected(cell) as connection:
        return copy_over(connection)


def copy_over(connection: psycopg.Connection[Any]) -> int:
    """Bring the directory to the cell at the other end of this connection."""
    known = connection.execute(query_text("fleet/directory").encode()).fetchone()
    [(changes,)] = fetch("select signalbox._fleet_changes(%s)::text", [known[2] if known else 0])
    row = connection.execute("select signalbox._fleet_copy(%s::jsonb)", [changes]).fetchone()
    return int(row[0]) if row else 0


def _try_copy(cell: Cell) -> Copied:
    try:
        return Copied(cell.name, copy_to(cell))
    except (psycopg.Error, Unavailable, SignalboxError) as error:
        return Copied(cell.name, None, str(error).strip().partition("\n")[0] or type(error).__name__)
