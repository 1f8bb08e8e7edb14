"""The mode of a queue changes only when no sender can still use the old mode.

A message that was sent to a standard queue has no place in the order of its group: in a FIFO queue two of one group
would be in flight at once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine
from tests.races.sessions import finish, start, until

Connect = Callable[..., psycopg.Connection[Any]]

OPEN = "mode cannot be changed while transactions are open"


def configure(engine: Engine, **settings: Any) -> None:
    engine.value("select signalbox.configure_queue(%s, %s)", engine.queue, Jsonb(settings))


def test_an_open_queue_keeps_its_mode(engine: Engine) -> None:
    with pytest.raises(psycopg.Error, match="mode can be changed only while the queue is closed") as caught:
        configure(engine, mode="fifo")
    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SB400", "mode")
    with pytest.raises(psycopg.Error, match="only while the queue is closed"):
        configure(engine, mode="fifo", closed=True)


@pytest.mark.parametrize("savepoint", [False, True], ids=["alone", "in a savepoint"])
def test_a_closing_that_is_not_committed_is_none(engine: Engine, savepoint: bool) -> None:
    """Senders find the queue open until then."""

    engine.connection.execute("begin")
    with engine.connection.transaction() if savepoint else nullcontext():
        configure(engine, closed=True)
    with pytest.raises(psycopg.Error, match="in a transaction of its own"):
        configure(engine, mode="fifo")
    engine.connection.rollback()


def test_a_change_waits_for_an_open_send_and_finds_its_message(engine: Engine, connect: Connect) -> None:
    sender = engine.on(connect(autocommit=False))
    sender.send("found it open", group_id="a")
    configure(engine, closed=True)
    changer = engine.on(connect())
    changing = start(configure, changer, mode="fifo")
    held = "select true from pg_locks where pid = %s and locktype = 'advisory' and granted"
    until(lambda: engine.value(held, changer.connection.info.backend_pid), "the change that waits")
    sender.connection.commit()

    with pytest.raises(psycopg.Error, match="only while the queue is empty"):
        finish(changing)
    with pytest.raises(psycopg.Error, match="only while the queue is empty"):
        configure(engine, mode="fifo")


def test_a_send_that_goes_on_is_said(engine: Engine, connect: Connect) -> None:
    sender = engine.on(connect(autocommit=False))
    sender.send("found it open", group_id="a")
    configure(engine, closed=True)
    with pytest.raises(psycopg.Error, match=OPEN):
        configure(engine, mode="fifo")
    sender.connection.rollback()
    configure(engine, mode="fifo", closed=False)


def test_a_prepared_send_is_reported(engine: Engine, connect: Connect) -> None:
    sender = connect()
    sender.execute("begin")
    engine.on(sender).send("found it open", group_id="a")
    configure(engine, closed=True)
    sender.execute(f"prepare transaction '{engine.queue}'")
    try:
        with pytest.raises(psycopg.Error, match=OPEN):
            configure(engine, mode="fifo")
    finally:
        sender.execute(f"commit prepared '{engine.queue}'")


def test_an_undo_that_is_open_is_said(engine: Engine, connect: Connect) -> None:
    engine.send("undone", group_id="a")
    removal = engine.value("select signalbox.open_trash_batch(3600)")
    assert engine.value("select signalbox.purge(%s, trash_batch_id => %s)", engine.queue, removal) == 1
    configure(engine, closed=True)
    restorer = connect(autocommit=False)
    restorer.execute("select signalbox.restore(%s)", [removal])
    with pytest.raises(psycopg.Error, match=OPEN):
        configure(engine, mode="fifo")
    restorer.commit()
    with pytest.raises(psycopg.Error, match="only while the queue is empty"):
        configure(engine, mode="fifo")
