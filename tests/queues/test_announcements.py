"""Whoever sleeps until a queue has something to receive is woken for every way in which that comes about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.engine import Engine

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
    removal = engine.value("select signalbox.open_removal(3600)")
    engine.value("select signalbox.purge(%s, removal_id => %s)", engine.queue, removal)
    with woken() as names:
        assert engine.value("select restored from signalbox.restore(%s)", removal) == 1

    assert engine.queue in names
    assert engine.receive_one()[3] == "x"


def test_a_dead_letter_that_comes_back_wakes_the_receivers_of_its_queue(
    engine: Engine, woken: Callable[..., Any]
) -> None:
    letter = engine.die("x")
    removal = engine.value("select signalbox.open_removal(3600)")
    engine.value("select signalbox.delete_dead_letters(array[%s::bigint], %s)", letter, removal)
    with woken() as names:
        assert engine.value("select restored from signalbox.restore(%s)", removal) == 1

    assert names == {f"{engine.queue}-dlq"}


def test_every_event_after_which_something_can_be_received_is_announced(engine: Engine) -> None:
    """What enters one of these states, or a dead-letter queue, by an event that is new is not left to those who poll."""
    source = engine.value("select prosrc from pg_proc where oid = 'signalbox.announce'::regproc")
    entering = engine.rows(
        "select event from signalbox.counter_event where to_state in ('ready', 'waiting', 'held')"
        " and name not like 'corrected%%' order by event"
    )

    assert f"d.event in ({', '.join(str(event) for (event,) in entering)})" in source
