"""Connections that bring rows in Arrow's columns, and take them.

Given an address, ADBC's driver first reads what types and columns there are, of every table: a tenth of a second of
both sides in a database of a few hundred, and more where there are more. It keeps that in what it calls a database,
which holds no connection and makes them; so a process has one for each address.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection


class _Kept:
    """What a connection is told to close at its end."""

    def close(self) -> None:
        """Others go on with it."""


def connect(dsn: str, *, autocommit: bool = False) -> Connection:
    """A connection of its own, as `adbc_driver_postgresql.dbapi.connect` gives."""
    from adbc_driver_manager import AdbcConnection, dbapi

    made = AdbcConnection(_database(dsn))
    try:
        return dbapi.Connection(_Kept(), made, autocommit=autocommit)  # type: ignore[arg-type]
    except BaseException:
        made.close()
        raise


@lru_cache(maxsize=8)
def _database(dsn: str) -> Any:
    import adbc_driver_postgresql

    return adbc_driver_postgresql.connect(dsn)
