"""Connections that bring rows in Arrow's columns, and take them.

Given an address, ADBC's driver first reads what types and columns there are, of every table: a tenth of a second of
both sides in a database of a few hundred, and more where there are more. It keeps that in what it calls a database,
which holds no connection and makes them; so a process has one for each address.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection


def connect(dsn: str, *, autocommit: bool = False) -> Connection:
    """A connection of its own, as `adbc_driver_postgresql.dbapi.connect` gives."""
    from adbc_driver_manager import AdbcConnection, dbapi

    made = AdbcConnection(_database(dsn))
    try:
        # An empty stack closes nothing in the place of the database: others go on with it.
        return dbapi.Connection(ExitStack(), made, autocommit=autocommit)  # type: ignore[arg-type]
    except BaseException:
        made.close()
        raise


@contextmanager
def session(dsn: str, settings: Mapping[str, int | str], *, autocommit: bool = True, **options: Any) -> Iterator[Any]:
    """A cursor of a connection of its own, in whose session these settings hold."""
    with connect(dsn, autocommit=autocommit) as connection, connection.cursor(**options) as cursor:
        change(cursor, settings)
        yield cursor


def change(cursor: Any, settings: Mapping[str, int | str]) -> None:
    """Change settings of the cursor's session."""
    for name, value in settings.items():
        cursor.execute("select set_config($1, $2, false)", (name, str(value)))
        cursor.fetchall()


@lru_cache(maxsize=8)
def _database(dsn: str) -> Any:
    import adbc_driver_postgresql

    return adbc_driver_postgresql.connect(dsn)
