"""Sessions of PostgreSQL that tests use one after the other: a new one plans every statement and function again."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import pq
from psycopg.rows import tuple_row

KEPT = 8
FORGET = """
close all; reset session authorization; reset all; unlisten *; select pg_advisory_unlock_all();
deallocate all; discard temp; discard sequences; select pg_stat_force_next_flush()
"""
"""Forgets all that a session keeps but its plans; counts that it has not reported yet are reported."""


class Sessions:
    """Sessions of one database that commit each statement."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._unused: list[psycopg.Connection[Any]] = []

    def take(self) -> psycopg.Connection[Any]:
        while self._unused:
            connection = self._unused.pop()
            with suppress(psycopg.Error):  # another test has ended it
                connection.execute("select 1")
                return connection
            connection.close()
        return psycopg.connect(self._dsn, autocommit=True)

    def give_back(self, connection: psycopg.Connection[Any]) -> None:
        """Keep a session in which nothing of the test is left; close others."""
        if len(self._unused) < KEPT and is_plain(connection) and forgets(connection):
            connection.row_factory = tuple_row
            self._unused.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        while self._unused:
            self._unused.pop().close()


def is_plain(connection: psycopg.Connection[Any]) -> bool:
    """Return whether the transactions of the session are as the next test expects them."""
    characteristics = connection.isolation_level, connection.read_only, connection.deferrable
    return connection.autocommit and characteristics == (None, None, None)


def forgets(connection: psycopg.Connection[Any]) -> bool:
    """Reset an idle session; say whether it can go on."""
    if connection.closed or connection.info.transaction_status != pq.TransactionStatus.IDLE:
        return False
    try:
        connection.execute(FORGET)
    except psycopg.Error:
        return False
    return True


def leave(django: BaseDatabaseWrapper) -> None:
    """Let the next test go on with Django's session, if nothing of this test is left in it."""
    if django.connection is not None and not django.in_atomic_block and forgets(django.connection):
        django.ensure_timezone()
    else:
        django.close()
