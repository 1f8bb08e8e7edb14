"""Statements with their parameters, run on Django's connection, and conditions to put into them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from django.db import InternalError, connection
from django.db.backends.utils import CursorWrapper

from queues.database.sql_names import rendered
from queues.errors import translated

QUERIES = Path(__file__).parents[1] / "queries"

REPEATS = 3
_DROPPED = re.compile("could not open relation with OID")

Parameter = str | int | datetime | list[str] | list[int]


@dataclass(frozen=True)
class Predicate:
    """A condition to put behind `where` or `and`; `%s` marks each of `params`, in order."""

    sql: str
    params: list[Parameter]


@dataclass(frozen=True)
class Query:
    """A statement and its parameters."""

    sql: str
    params: list[Any] | dict[str, Any]

    def rows(self) -> list[tuple[Any, ...]]:
        """Run the statement and fetch its rows."""
        return fetch(self.sql, self.params)

    def column(self) -> list[Any]:
        """Run the statement and fetch the first value of each row."""
        return [row[0] for row in self.rows()]


def fetch(statement: str, parameters: list[Any] | dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """Run a statement on Django's connection and fetch its rows."""
    with connection.cursor() as cursor:
        _execute(cursor, statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def _execute(cursor: CursorWrapper, statement: str, parameters: list[Any] | dict[str, Any] | None) -> None:
    """Run a statement. Repeat it, outside a transaction, if a sequence that it reads was dropped with its queue.

    The rows that a statement sees are older than the sequences that it opens.
    """
    for _ in range(REPEATS):
        try:
            cursor.execute(statement, parameters)
            return
        except InternalError as error:
            if connection.in_atomic_block or not _DROPPED.search(str(error)):
                raise
    cursor.execute(statement, parameters)


def database_now() -> datetime:
    """Read the clock of the database server."""
    now: datetime = fetch("select clock_timestamp()")[0][0]
    return now


@cache
def query_text(name: str) -> str:
    """Read `queues/queries/<name>.sql`, such as `health/xmin_holders`, with codes in place of their names."""
    return rendered((QUERIES / f"{name}.sql").read_text())


def named_rows(statement: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a statement; return each row as values by the names of columns."""
    with connection.cursor() as cursor:
        _execute(cursor, statement, parameters)
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def named_row(statement: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Run a statement with one row; return its values by the names of columns."""
    [row] = named_rows(statement, parameters)
    return row


def verb_rows(statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Call a verb on psycopg's own connection, whose errors name the refusal; Django would replace them."""
    connection.ensure_connection()
    with translated():
        rows: list[tuple[Any, ...]] = connection.connection.execute(statement, parameters).fetchall()
    return rows


def verb_value(statement: str, *parameters: Any) -> Any:
    """Call a verb that returns one value; None without a row."""
    rows = verb_rows(statement, *parameters)
    return rows[0][0] if rows else None
