"""Claims never wait for each other, and find due and returned messages without help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.floors import Floors

Connect = Callable[..., psycopg.Connection[Any]]


@pytest.fixture(params=["with upkeep", "without upkeep"])
def queue(request: pytest.FixtureRequest, engine: Engine, make_floors: Callable[..., Floors]) -> Engine:
    """Queue with moving claim floors, or without any."""
    if request.param == "with upkeep":
        make_floors(engine).tick()
    return engine


@pytest.mark.parametrize("max_messages", [1, 2])
@pytest.mark.parametrize("priorities", [[0], [0, 9]])
@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_a_claim_passes_over_what_another_is_claiming(
    queue: Engine, connect: Connect, max_messages: int, priorities: list[int], ends: str
) -> None:
    for number in range(4):
        queue.send(number, priority=priorities[number % len(priorities)])
    first, second = queue.on(connect()), queue.on(connect())
    second.connection.execute("set lock_timeout = '1s'")
    first.connection.execute("begin")
    claimed = {row[0] for row in first.receive(max_messages)}

    others = {row[0] for row in second.receive(max_messages)}

    assert len(claimed) == len(others) == max_messages
    assert not claimed & others
    first.connection.execute(ends.encode())
    rest = {row[0] for row in second.receive(4)}
    assert len(rest | others | (claimed if ends == "commit" else set())) == 4


@pytest.mark.parametrize("max_messages", [1, 10])
def test_a_queue_all_of_whose_messages_are_being_claimed_looks_empty(
    queue: Engine, connect: Connect, max_messages: int
) -> None:
    queue.send("x")
    first, second = queue.on(connect()), queue.on(connect())
    second.connection.execute("set lock_timeout = '1s'")
    first.connection.execute("begin")
    assert len(first.receive(max_messages)) == 1

    assert second.receive(max_messages) == []

    first.connection.execute("commit")
    assert second.receive(max_messages) == []


@pytest.mark.parametrize("max_messages", [1, 10])
def test_a_claim_that_comes_back_short_finds_what_expired_and_what_is_due(queue: Engine, max_messages: int) -> None:
    queue.send("expired")
    queue.receive_one(visibility_timeout=0)
    queue.send("due", delay_seconds=0.000001)
    received: list[str] = []
    while rows := queue.receive(max_messages):
        received += [row[3] for row in rows]

    assert sorted(received) == ["due", "expired"]


@pytest.mark.parametrize("max_messages", [1, 3])
def test_without_upkeep_a_backlog_does_not_hide_what_expired(engine: Engine, max_messages: int) -> None:
    """Claims that always find enough would otherwise never look."""
    engine.send("expired")
    engine.receive_one(visibility_timeout=0)
    for number in range(10):
        engine.send(number)

    assert len(engine.receive(max_messages)) == max_messages

    assert engine.value("select count(*) from signalbox.failure where queue_id = %s", engine.queue_id) == 1
    assert engine.recounted()[2] == max_messages


@pytest.mark.parametrize("max_messages", [1, 10])
def test_bodies_that_outlived_their_segment_are_received_like_others(engine: Engine, max_messages: int) -> None:
    engine.send("in the log")
    engine.send("kept")
    engine.connection.execute(
        "with gone as (delete from signalbox.message where queue_id = %s and payload = '\"kept\"' returning *)"
        " insert into signalbox.message_kept (message_id, queue_id, payload, priority, sent_at)"
        " select message_id, queue_id, payload, priority, sent_at from gone",
        [engine.queue_id],
    )
    received = [row[3] for _ in range(2) for row in engine.receive(max_messages)]

    assert received == ["in the log", "kept"]


@pytest.mark.parametrize("max_messages", [1, 10])
def test_a_ticket_without_a_body_fails_the_claim_and_stays(engine: Engine, max_messages: int) -> None:
    engine.send("lost")
    engine.connection.execute("delete from signalbox.message where queue_id = %s", [engine.queue_id])

    with pytest.raises(psycopg.errors.DataCorrupted):
        engine.receive(max_messages)

    assert engine.counted() == engine.recounted() == (1, 0, 0, 0, 0)
