"""Many failed deliveries in one statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from signalbox import Client, InvalidArgument
from tests.engine import Engine
from tests.races.sessions import finish, start, until_waiting


def test_each_gets_what_is_said_of_it(engine: Engine) -> None:
    for payload in "abc":
        engine.send(payload)
    handles = [row[1] for row in engine.receive(3)]
    engine.ack(handles[2])

    outcomes = Client(engine.connection).nack_batch(
        [
            (handles[1], {"reason": "rejected", "error_class": "Hopeless"}),
            (handles[2], {}),
            (handles[0], {"delay_seconds": 0, "state": {"page": 2}}),
        ]
    )
    assert outcomes == ["dead", None, "retry"]
    (row,) = engine.rows("select receive_count, state from signalbox.receive(%s)", engine.queue)
    assert row == (2, {"page": 2})
    assert engine.counted() == engine.recounted()


def test_one_wrong_argument_changes_nothing(engine: Engine) -> None:
    engine.send("a")
    engine.send("b")
    handles = [row[1] for row in engine.receive(2)]

    with pytest.raises(InvalidArgument, match="reason"):
        Client(engine.connection).nack_batch([(handles[0], {}), (handles[1], {"reason": "tired"})])  # type: ignore[typeddict-item]
    assert engine.recounted()[2] == 2


def test_two_with_the_same_messages_in_other_orders_take_turns(
    engine: Engine, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    for payload in range(4):
        engine.send(payload)
    handles = [row[1] for row in engine.receive(4)]
    one, other = connect(autocommit=False), connect(autocommit=False)
    assert Client(one).nack_batch([(handle, {}) for handle in handles]) == ["retry"] * 4
    waiting = start(Client(other).nack_batch, [(handle, {}) for handle in reversed(handles)])
    until_waiting(engine.connection, other)
    one.commit()

    assert finish(waiting) == [None] * 4
    other.commit()
    assert engine.counted() == engine.recounted()
