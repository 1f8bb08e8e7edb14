"""Receivers that sleep until a message arrives are woken in every way in which one can arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from queues.upkeep.upkeep import Pulse
from signalbox import AsyncClient, Client
from signalbox.connections.listening import shared_listener, stream_key
from tests.engine import Engine
from tests.races.sessions import finish, start, until
from tests.streams import make_log

Connect = Callable[..., psycopg.Connection[Any]]
MakeEngine = Callable[..., Engine]


@pytest.fixture
def woken(connect: Connect) -> Callable[..., Any]:
    """The queues that are announced after what is done in the block."""
    observer = connect()

    @contextmanager
    def _woken() -> Iterator[set[str]]:
        names: set[str] = set()
        (since,) = observer.execute("select pg_current_snapshot()::text").fetchone() or ("",)
        observer.execute("listen signalbox_ready")
        yield names
        observer.execute("select signalbox.announce(%s::pg_snapshot)", [since])
        for notice in observer.notifies(timeout=0):
            names.update(notice.payload.split(","))

    return _woken


def test_a_death_wakes_the_receivers_of_the_dead_letter_queue(engine: Engine, woken: Callable[..., Any]) -> None:
    engine.die("before")
    with woken() as names:
        engine.die("poison")

    assert f"{engine.queue}-dlq" in names
    assert engine.rows("select payload from signalbox.receive(%s, 10)", f"{engine.queue}-dlq") == [
        ("before",),
        ("poison",),
    ]


@pytest.mark.parametrize("settings", [{}, {"mode": "fifo"}], ids=["ready", "waiting"])
def test_what_comes_back_from_the_trash_wakes_receivers(
    make_engine: MakeEngine, woken: Callable[..., Any], settings: dict[str, Any]
) -> None:
    engine = make_engine(**settings)
    engine.send("x")
    removal = engine.value("select signalbox.open_trash_batch(3600)")
    engine.value("select signalbox.purge(%s, trash_batch_id => %s)", engine.queue, removal)
    with woken() as names:
        assert engine.value("select restored from signalbox.restore(%s)", removal) == 1

    assert engine.queue in names
    assert engine.receive_one()[3] == "x"


def test_a_dead_letter_that_comes_back_wakes_the_receivers_of_its_queue(
    engine: Engine, woken: Callable[..., Any]
) -> None:
    letter = engine.die("x")
    removal = engine.value("select signalbox.open_trash_batch(3600)")
    engine.value("select signalbox.delete_dead_letters(array[%s::bigint], %s)", letter, removal)
    with woken() as names:
        assert engine.value("select restored from signalbox.restore(%s)", removal) == 1

    assert names == {f"{engine.queue}-dlq"}


def test_every_event_after_which_something_can_be_received_is_announced(engine: Engine) -> None:
    """announce follows from the list of events."""
    source = engine.value("select prosrc from pg_proc where oid = 'signalbox.announce'::regproc")
    entering = engine.rows(
        "select event from signalbox.counter_event where to_state in ('ready', 'waiting', 'held')"
        " and name not like 'corrected%%' order by event"
    )

    assert f"d.event = any('{{{','.join(str(event) for (event,) in entering)}}}'::smallint[]" in source


def test_an_append_wakes_the_readers_of_its_stream_once_it_can_be_read(connect: Connect) -> None:
    log = make_log(connect(), partitions=2)
    quiet = make_log(connect(), partitions=2)
    observer = connect()
    observer.execute("listen signalbox_appended")
    noted: list[str] = ["{}"]

    def announced() -> set[str]:
        row = observer.execute("select signalbox.announce_appends(%s::jsonb)::text", noted).fetchone()
        noted[:] = row or ()
        names = [name for notice in observer.notifies(timeout=0) for name in notice.payload.split(",")]
        return {log.name, quiet.name} & set(names)

    assert announced() == set()
    log.append("a")
    assert announced() == {log.name}
    assert announced() == set()
    slow = log.on(connect(autocommit=False))
    for _ in range(2):  # one of each partition
        slow.append("late")
    log.append("behind it")
    assert announced() == set()
    slow.connection.commit()
    assert announced() == {log.name}
    assert announced() == set()


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_reader_that_sleeps_is_woken_by_an_append(
    dsn: str, connect: Connect, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Receiver that looks again after an hour, or on notification."""
    for module in ("client", "async_client"):
        monkeypatch.setattr(f"signalbox.{module}.LOOK_SECONDS", 3600.0)
    log = make_log(connect(), partitions=1)
    log.group()
    pulse = Pulse(connect())
    pulse.announce_appends()
    with shared_listener(dsn).waiter(stream_key(log.name)):
        reader = start(read if kind == "sync" else read_async, dsn, log.name)
        until(lambda: len(shared_listener(dsn)._callbacks.get(stream_key(log.name), ())) == 2, "the reader's sleep")
        assert shared_listener(dsn).connected.wait(60)
        log.append("news")
        pulse.announce_appends()

        assert finish(reader) == ["news"]


def read(dsn: str, stream: str) -> list[Any]:
    with Client(dsn) as client:
        return [one.payload for one in client.read_stream(stream, "g", "m", wait_seconds=80)]


def read_async(dsn: str, stream: str) -> list[Any]:
    async def live() -> list[Any]:
        async with AsyncClient(dsn) as client:
            return [one.payload for one in await client.read_stream(stream, "g", "m", wait_seconds=80)]

    return asyncio.run(live())


def test_a_read_that_waits_in_vain_ends(dsn: str, connect: Connect) -> None:
    log = make_log(connect(), partitions=1)
    log.group()
    with Client(dsn) as client:
        assert client.read_stream(log.name, "g", "m", wait_seconds=0.01) == []


def test_a_receiver_of_a_dead_letter_queue_that_sleeps_is_woken(
    dsn: str, engine: Engine, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signalbox.client.LOOK_SECONDS", 3600.0)
    engine.value("select signalbox.redrive(array[%s::bigint])", engine.die("first"))  # now there is such a queue
    engine.ack(engine.receive_one()[1])
    graves = f"{engine.queue}-dlq"
    pulse = Pulse(connect())

    def receive() -> list[Any]:
        with Client(dsn) as client:
            return [one.payload for one in client.receive(graves, wait_seconds=80)]

    with shared_listener(dsn).waiter(graves):
        receiver = start(receive)
        until(lambda: len(shared_listener(dsn)._callbacks.get(graves, ())) == 2, "the receiver's sleep")
        assert shared_listener(dsn).connected.wait(60)
        engine.die("poison")
        pulse.announce()

        assert finish(receiver) == ["poison"]
