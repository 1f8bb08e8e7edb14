"""Connections in Arrow's columns: what is kept of an address is no session of the server."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any
from unittest import mock

import adbc_driver_postgresql
import psycopg
import pytest

from pipeline import arrow_connections
from tests.races.sessions import until

PID = "select pg_backend_pid()"


def test_each_is_a_session_of_its_own_and_none_stays(dsn: str, connect: Callable[..., psycopg.Connection[Any]]) -> None:
    with arrow_connections.connect(dsn, autocommit=True) as one, arrow_connections.connect(dsn) as other:
        pids = [asked(connection, PID) for connection in (one, other)]
    alive = "select count(*) from pg_stat_activity where pid = any(%s)"

    assert pids[0] != pids[1]
    until(lambda: connect().execute(alive, [pids]).fetchone() == (0,), "the end of the sessions")


def test_the_catalogue_is_read_once(dsn: str, django_db_setup: None) -> None:
    arrow_connections._database.cache_clear()
    with mock.patch.object(adbc_driver_postgresql, "connect", wraps=adbc_driver_postgresql.connect) as read:
        for _ in range(3):
            arrow_connections.connect(dsn).close()

    assert read.call_count == 1


def test_one_without_autocommit_is_undone_with_its_end(
    dsn: str, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    connect().execute("create table public.undone (n int)")
    try:
        with closing(arrow_connections.connect(dsn)) as connection, connection.cursor() as cursor:
            cursor.execute("insert into public.undone values (1)")
        assert connect().execute("select count(*) from public.undone").fetchone() == (0,)
    finally:
        connect().execute("drop table public.undone")


def test_an_unreachable_address_is_an_error_each_time() -> None:
    for _ in range(2):
        with pytest.raises(Exception, match=r"refused|connect"):
            arrow_connections.connect("host=127.0.0.1 port=1 connect_timeout=5")


def asked(connection: Any, question: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(question)
        return cursor.fetchone()[0]
