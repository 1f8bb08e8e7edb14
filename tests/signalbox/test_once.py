"""The inbox: a message takes effect once, in the transaction of the handler's own work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from signalbox import Client, InvalidArgument, WrongIsolation

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def message(client, queue):
    client.send(queue, 1)
    return client.receive(queue)[0]


def test_true_the_first_time_and_false_after_the_commit(message, connect: Connect) -> None:
    connection = connect(autocommit=False)
    inbox = Client(connection)
    assert inbox.once(message)
    assert not inbox.once(message)
    connection.rollback()
    assert inbox.once(message.id)
    assert inbox.once(message, handler="search")
    connection.commit()
    assert not inbox.once(message)


def test_of_two_handlers_the_second_waits_for_the_first(message, connect: Connect) -> None:
    first, second = connect(autocommit=False), connect(autocommit=False)
    assert Client(first).once(message)
    second.execute("set lock_timeout = '50ms'")
    second.commit()
    with pytest.raises(psycopg.errors.LockNotAvailable):
        Client(second).once(message)
    second.rollback()
    first.commit()
    assert not Client(second).once(message)


def test_an_entry_lasts_for_its_window_and_old_days_are_dropped(message, client, connect: Connect) -> None:
    connection = connect()
    assert client.once(message, window_seconds=60)
    connection.execute("update signalbox.inbox set expires_at = clock_timestamp() where message_id = %s", [message.id])
    assert client.once(message)
    connection.execute("select signalbox._ensure_period('inbox', '2020-02-01', '2020-02-02', 'YYYYMMDD')")
    old = "select name from signalbox._unneeded_history() where name like 'inbox%%'"
    assert connection.execute(old).fetchall() == [("inbox_20200201",)]
    connection.execute("drop table signalbox.inbox_20200201")


def test_what_is_wrong_is_named(message, client, connect: Connect) -> None:
    for field, options in {"window_seconds": {"window_seconds": 604801}, "handler": {"handler": "h" * 201}}.items():
        with pytest.raises(InvalidArgument) as caught:
            client.once(message, **options)
        assert caught.value.field == field
    connection = connect(autocommit=False)
    connection.execute("set transaction isolation level repeatable read")
    with pytest.raises(WrongIsolation):
        Client(connection).once(message)
