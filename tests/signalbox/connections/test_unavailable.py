"""Reasons of an unavailable database, from real errors of PostgreSQL and libpq."""

from __future__ import annotations

import asyncio
import pickle

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from signalbox import AsyncClient, Client, DatabaseUnavailable, ServerUnavailable, Unavailable
from signalbox.calls.problems import error_of
from signalbox.connections.unavailable import BY_SLUG, cause_of, unavailable_of
from signalbox.errors import translated
from signalbox.logs import in_brief
from signalbox.worker.outages import persist
from tests.ports import free_port

READ_ONLY = "-c search_path=signalbox -c default_transaction_read_only=on"


def unavailable(client: Client, queue: str) -> DatabaseUnavailable:
    with pytest.raises(DatabaseUnavailable) as caught, client:
        client.send(queue, "x")
    assert isinstance(caught.value, Unavailable)
    assert isinstance(caught.value, psycopg.OperationalError)  # as it was called before it had a name of its own
    return caught.value


@pytest.mark.parametrize(
    ("parameters", "cause"),
    [
        ({"host": "127.0.0.1", "port": 1}, "no-connection"),
        ({"host": "/nonexistent", "port": 1}, "no-connection"),
        ({"host": "nowhere.invalid"}, "no-connection"),
        ({"dbname": "there-is-none"}, "login-refused"),
        ({"user": "there-is-none"}, "login-refused"),
    ],
)
def test_what_never_connected_did_nothing(dsn: str, parameters: dict[str, object], cause: str) -> None:
    error = unavailable(Client(make_conninfo(dsn, **parameters)), "q")

    assert (error.cause, error.nothing_done) == (cause, True)
    assert str(error).startswith(BY_SLUG[cause].words)


def test_a_read_only_database_is_named(dsn: str, queue: str) -> None:
    error = unavailable(Client(make_conninfo(dsn, options=READ_ONLY)), queue)

    assert (error.cause, error.nothing_done, error.sqlstate) == ("read-only", True, "25006")
    assert in_brief(error).startswith(
        "signalbox.connections.unavailable.DatabaseUnavailable: the database is read-only, and nothing"
    )


def test_the_asynchronous_client_says_the_same(dsn: str, queue: str) -> None:
    async def send() -> None:
        client = AsyncClient(make_conninfo(dsn, options=READ_ONLY))
        try:
            await client.send(queue, "x")
        finally:
            await client.close()

    with pytest.raises(DatabaseUnavailable) as caught:
        asyncio.run(send())

    assert (caught.value.cause, caught.value.nothing_done) == ("read-only", True)


def test_a_session_that_is_read_only_is_given_up(dsn: str, queue: str) -> None:
    """The database may take writes again long before such a session ends."""
    client = Client(make_conninfo(dsn, options=READ_ONLY))
    with client._connections.borrow() as connection:
        pass
    unavailable_once = pytest.raises(DatabaseUnavailable)
    with unavailable_once:
        client.send(queue, "x")

    assert connection.closed
    client.close()


def test_so_is_one_of_a_pool(dsn: str, queue: str) -> None:
    with ConnectionPool(make_conninfo(dsn, options=READ_ONLY), min_size=1, max_size=1) as pool:
        with pool.connection() as connection:
            pass
        with pytest.raises(DatabaseUnavailable):
            Client(pool).send(queue, "x")

        assert connection.closed


def test_a_session_that_is_ended_may_have_done_it(dsn: str, queue: str, client: Client) -> None:
    with psycopg.connect(dsn) as connection:
        own = Client(connection)
        own.send(queue, 1)
        with psycopg.connect(dsn, autocommit=True) as killer:
            killer.execute("select pg_terminate_backend(%s, 60000)", [connection.info.backend_pid])
        with pytest.raises(DatabaseUnavailable) as first:
            own.send(queue, 2)
        with pytest.raises(DatabaseUnavailable) as second:
            own.send(queue, 3)

    for caught in (first, second):
        assert (caught.value.cause, caught.value.nothing_done) == ("connection-lost", False)
    assert client.receive(queue, 10) == []


def test_a_pool_without_a_connection_did_nothing(queue: str) -> None:
    pool = ConnectionPool(f"host=127.0.0.1 port={free_port()} dbname=x", open=False, timeout=0.01)
    pool.open()
    try:
        with pytest.raises(DatabaseUnavailable) as caught:
            Client(pool).send(queue, "x")
    finally:
        pool.close()

    assert isinstance(caught.value.__cause__, PoolTimeout)
    assert (caught.value.cause, caught.value.nothing_done) == ("no-connection", True)


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("FATAL:  sorry, too many clients already", "too-many-connections"),
        ('FATAL:  too many connections for role "app"', "too-many-connections"),
        (
            "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
            "too-many-connections",
        ),
        ("FATAL:  the database system is starting up", "starting"),
        ("FATAL:  the database system is not yet accepting connections", "starting"),
        ("FATAL:  the database system is in recovery mode", "starting"),
        ('FATAL:  password authentication failed for user "app"', "login-refused"),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.1"', "login-refused"),
        ("session is read-only", "read-only"),
        ("Connection refused", "no-connection"),
    ],
)
def test_refused_connections_are_distinguished_by_their_text(words: str, cause: str) -> None:
    error = psycopg.OperationalError(f'connection failed: connection to server at "db" failed: {words}')

    found = cause_of(error)
    assert found is not None
    assert (found.slug, found.nothing_done) == (cause, True)


@pytest.mark.parametrize(
    ("sqlstate", "cause"),
    [
        ("53100", "disk-full"),
        ("53200", "out-of-resources"),
        ("53300", "too-many-connections"),
        ("57P01", "connection-lost"),
        ("57P03", "starting"),
        ("58030", "out-of-resources"),
        ("08006", "connection-lost"),
        ("25006", "read-only"),
    ],
)
def test_a_server_error_is_recognised_by_its_state(connection, sqlstate: str, cause: str) -> None:
    with pytest.raises(DatabaseUnavailable) as caught, translated():
        connection.execute(f"do $$ begin raise exception 'in its words' using errcode = '{sqlstate}'; end $$")

    assert (caught.value.cause, caught.value.sqlstate) == (cause, sqlstate)
    assert str(caught.value).endswith(": in its words")
    assert caught.value.diag.message_primary == "in its words"
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (copied.cause, copied.nothing_done) == (caught.value.cause, caught.value.nothing_done)


@pytest.mark.parametrize("sqlstate", ["57014", "55P03", "40P01", "22012", "42P01"])
def test_what_is_about_the_request_stays_what_it_is(connection, sqlstate: str) -> None:
    with pytest.raises(psycopg.Error) as caught, translated():
        connection.execute(f"do $$ begin raise exception using errcode = '{sqlstate}'; end $$")

    assert not isinstance(caught.value, Unavailable)
    assert unavailable_of(caught.value) is None


def test_over_http_the_cause_comes_along() -> None:
    problem = {
        "type": "/problems/database-away",
        "status": 503,
        "detail": "Full.",
        "cause": "disk-full",
        "retryAfter": 10,
    }

    error = error_of(problem, {})

    assert isinstance(error, ServerUnavailable)
    assert isinstance(error, Unavailable)
    assert (str(error), error.cause, error.nothing_done, error.retry_after) == ("Full.", "disk-full", True, 10)
    unknown = error_of({"type": "/problems/database-away", "status": 503, "cause": "of a later version"}, {})
    assert isinstance(unknown, ServerUnavailable)
    assert not unknown.nothing_done


def test_a_worker_asks_again_until_there_is_an_answer(dsn: str) -> None:
    answers = [unavailable_of(psycopg.OperationalError("connection failed: no")), None]

    async def ask() -> str:
        if error := answers.pop(0):
            raise error
        return "done"

    assert asyncio.run(persist("ask", ask, longest_pause=0.001)) == "done"
