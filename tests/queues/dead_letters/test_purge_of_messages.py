"""Removing messages that wait by their ids, as an erasure does: of many tickets it reads those of their moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine

Connect = Callable[..., psycopg.Connection[Any]]
PURGE = "select signalbox._purge_messages(%s)"
BLOCKS = "select pg_stat_get_xact_blocks_fetched('signalbox.ready_claim'::regclass)"
MANY = 40_000


@pytest.fixture
def crowded(engine: Engine, connect: Connect) -> Engine:
    """A session in whose transaction, which is never committed, the queue has many tickets."""
    session = engine.on(connect(autocommit=False))
    session.connection.execute(
        "insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id)"
        " select %s, 0, 0, clock_timestamp() - interval '1 hour', -n from generate_series(1, %s) n",
        [engine.queue_id, MANY],
    )
    session.connection.execute("analyze signalbox.ready")
    return session


def test_what_is_ready_since_it_was_sent_is_found_without_reading_all_tickets(crowded: Engine) -> None:
    message_id = crowded.send("mine")
    before = crowded.value(BLOCKS)

    assert crowded.value(PURGE, [message_id]) == [message_id]

    assert crowded.value(BLOCKS) - before < 40  # all of them fill more than 150


def test_what_came_later_is_found_too(crowded: Engine) -> None:
    late = crowded.send("late")
    crowded.connection.execute(
        "update signalbox.ready set ready_at = ready_at + interval '1 minute' where message_id = %s", [late]
    )
    resting = crowded.send("resting", delay_seconds=60)
    soon = crowded.send("soon", priority=5)

    assert sorted(crowded.value(PURGE, [late, resting, soon])) == [late, resting, soon]
    assert crowded.value("select count(*) from signalbox.ready where queue_id = %s", crowded.queue_id) == MANY
