"""Connections to PostgreSQL that transfer rows as Arrow batches (ADBC).

For a new `AdbcDatabase` the driver reads the types and columns of all tables, which takes a tenth of a second with a
few hundred tables. A process therefore keeps one `AdbcDatabase` for each address, and makes its connections from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection


def connect(dsn: str, *, autocommit: bool = False) -> Connection:
    """Open a connection, like `adbc_driver_postgresql.dbapi.connect` but with the process's `AdbcDatabase`."""
    from adbc_driver_manager import AdbcConnection, dbapi

    made = AdbcConnection(_database(dsn))
    try:
        # The connection would close its database; an empty stack in its place keeps the shared one open.
        return dbapi.Connection(ExitStack(), made, autocommit=autocommit)  # type: ignore[arg-type]
    except BaseException:
        made.close()
        raise


@contextmanager
def session(dsn: str, settings: Mapping[str, int | str], *, autocommit: bool = True, **options: Any) -> Iterator[Any]:
    """Open a connection with these PostgreSQL settings, and yield a cursor."""
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
