"""Waiters are woken by what the database announces, over one connection, and survive losing it."""

from __future__ import annotations

import os
import threading

import pytest
from psycopg.conninfo import make_conninfo

from signalbox.connections.listening import Listener, shared_listener
from tests.signalbox.worker.workers import PATIENCE, eventually


@pytest.fixture
def name(request):
    """Application name of this test's listener, to distinguish its connections."""
    return f"listener of {request.node.name}"[:63]


@pytest.fixture
def listener(dsn, name):
    return Listener(make_conninfo(dsn, application_name=name))


@pytest.fixture
def backends(connection, name):
    """The processes of the server that serve the listener."""

    def look():
        rows = connection.execute("select pid from pg_stat_activity where application_name = %s", [name]).fetchall()
        connection.commit()  # pg_stat_activity is looked at once in a transaction
        return [pid for (pid,) in rows]

    return look


def announce(connection, names):
    connection.execute("select pg_notify('signalbox_ready', %s)", [names])
    connection.commit()


def test_an_announcement_wakes_the_waiters_of_its_queues_only(listener, connection):
    with listener.waiter("a") as first, listener.waiter("b") as second, listener.waiter("c") as third:
        assert listener.connected.wait(PATIENCE)
        announce(connection, "c")
        assert third.wait(PATIENCE)
        for waiter in (first, second, third):
            waiter.clear()
        announce(connection, "a,b")
        assert first.wait(PATIENCE)
        assert second.wait(PATIENCE)
        announce(connection, "c")
        assert third.wait(PATIENCE)


def test_waiting_ends_in_time_without_an_announcement(listener):
    with listener.waiter("quiet") as waiter:
        assert waiter.wait(PATIENCE)
        waiter.clear()
        assert waiter.wait(0.05) is False


def test_one_connection_serves_all_waiters_and_ends_with_the_last(listener, backends):
    with listener.waiter("a"), listener.waiter("a"), listener.waiter("b"):
        assert listener.connected.wait(PATIENCE)
        assert len(backends()) == 1
    eventually(lambda: backends() == [])
    with listener.waiter("a"):
        eventually(lambda: len(backends()) == 1)


def test_a_lost_connection_is_opened_again_and_wakes_everybody(listener, connection, backends):
    with listener.waiter("a") as waiter:
        assert waiter.wait(PATIENCE)
        (pid,) = backends()
        waiter.clear()
        connection.execute("select pg_terminate_backend(%s, 60000)", [pid])
        connection.commit()
        assert waiter.wait(PATIENCE)
        eventually(lambda: backends() not in ([], [pid]))


def test_a_callback_that_fails_does_not_stop_the_others(listener, connection, caplog):
    woken = threading.Event()

    def fail():
        raise ZeroDivisionError

    with listener.on_ready("a", fail), listener.on_ready("a", woken.set):
        assert listener.connected.wait(PATIENCE)
        announce(connection, "a")
        eventually(woken.is_set)
    assert "ZeroDivisionError" in caplog.text


def test_without_a_database_waiting_still_ends(caplog):
    with Listener("host=127.0.0.1 port=1 dbname=nowhere").waiter("a") as waiter:
        assert waiter.wait(0.05) is False
        eventually(lambda: "receivers poll instead" in caplog.text)


def test_a_process_has_one_listener_for_a_database_and_a_fork_its_own(dsn):
    listener = shared_listener(dsn)
    assert shared_listener(dsn) is listener
    child = os.fork()
    if child == 0:
        os._exit(0 if shared_listener(dsn) is not listener else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_child_forked_during_a_request_can_ask(dsn):
    with shared_listener(dsn)._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if shared_listener(dsn)._lock.acquire(blocking=False) else 1)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
