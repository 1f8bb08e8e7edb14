"""A claim that first acknowledges what the caller has in hand: what both verbs promise, in one call and one commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.engine import Engine

Row = tuple[Any, ...]


@pytest.fixture(params=[1, 3], ids=["one", "many"])
def in_hand(request: pytest.FixtureRequest, engine: Engine) -> list[str]:
    """Handles of messages that were received, with as many left behind them."""
    for number in range(2 * request.param):
        engine.send(number)
    return [row[1] for row in engine.receive(request.param)]


def test_it_acknowledges_and_brings_what_is_next(engine: Engine, in_hand: list[str]) -> None:
    rows = engine.receive(10, acknowledge=in_hand)

    assert [row[3] for row in rows] == list(range(len(in_hand), 2 * len(in_hand)))
    assert engine.ack(*in_hand) == [False] * len(in_hand)
    assert engine.counted() == engine.recounted() == (0, 0, len(in_hand), 0, 0)


def test_what_is_acknowledged_is_kept_as_history(engine: Engine, in_hand: list[str]) -> None:
    engine.receive(1, consumer="another", acknowledge=in_hand)

    ids = [int(handle.split(".")[1]) for handle in in_hand]
    assert engine.rows(
        "select message_ids, receive_counts, outcome::text from signalbox.settled where queue_id = %s", engine.queue_id
    ) == [(ids, [1] * len(ids), "a")]


def test_a_handle_that_is_no_longer_held_has_a_row_without_message(engine: Engine, in_hand: list[str]) -> None:
    engine.ack(in_hand[0])

    rows = engine.receive(1, acknowledge=in_hand)

    assert rows[0] == (None, in_hand[0], None, None, None)
    assert [row[3] for row in rows[1:]] == [len(in_hand)]
    assert engine.ack(*in_hand) == [False] * len(in_hand)


def test_nothing_in_hand_is_a_plain_claim(engine: Engine) -> None:
    message_id = engine.send("x")

    assert [row[0] for row in engine.receive(1, acknowledge=[])] == [message_id]


def test_when_nothing_is_next_it_still_acknowledges(engine: Engine) -> None:
    engine.send("x")
    handle = engine.receive_one()[1]

    assert engine.receive(5, acknowledge=[handle]) == []
    assert engine.ack(handle) == [False]


def test_a_paused_queue_acknowledges_and_hands_out_nothing(engine: Engine, in_hand: list[str]) -> None:
    engine.rows("select signalbox.configure_queue(%s, '{\"paused\": true}')", engine.queue)

    assert engine.receive(5, acknowledge=in_hand) == []
    assert engine.ack(*in_hand) == [False] * len(in_hand)


def test_it_acknowledges_what_came_from_another_queue(make_engine: Callable[..., Engine]) -> None:
    one, other = make_engine(), make_engine()
    one.send("x")
    message_id = other.send("y")

    assert [row[0] for row in other.receive(1, acknowledge=[one.receive_one()[1]])] == [message_id]
    assert one.counted() == one.recounted() == (0, 0, 0, 0, 0)


def test_the_next_of_a_fifo_group_comes_in_the_same_call(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(mode="fifo")
    first, second = engine.send(1, group_id="a"), engine.send(2, group_id="a")
    row = engine.receive_one()

    assert row[0] == first
    assert [row[0] for row in engine.receive(5, acknowledge=[row[1]])] == [second]


@pytest.mark.parametrize("handle", ["nonsense", "1.2", "1.2.not-a-nonce", "1.2.3.4", f"99999999999.1.{UUID(int=7)}"])
@pytest.mark.parametrize("others", [0, 1])
def test_what_is_no_handle_is_refused_whole(engine: Engine, handle: str, others: int) -> None:
    engine.send("x")
    held = engine.receive_one()[1]
    engine.send("y")

    with pytest.raises(psycopg.Error) as caught:
        engine.receive(1, acknowledge=[*[held] * others, handle])

    assert caught.value.sqlstate == "SB400"
    assert caught.value.diag.column_name == "receipt_handle"
    assert engine.counted()[:3] == (1, 0, 1)


def test_an_unknown_queue_acknowledges_nothing(engine: Engine) -> None:
    engine.send("x")
    handle = engine.receive_one()[1]

    with pytest.raises(psycopg.Error) as caught:
        engine.rows("select from signalbox.receive('no-such-queue', acknowledge => %s)", [handle])

    assert caught.value.sqlstate == "SB404"
    assert engine.ack(handle) == [True]


def test_a_rollback_undoes_both(engine: Engine, connect: Callable[..., psycopg.Connection[Any]]) -> None:
    engine.send("x")
    handle = engine.receive_one()[1]
    engine.send("y")
    session = connect(autocommit=False)

    engine.on(session).receive(1, acknowledge=[handle])
    session.rollback()

    assert engine.counted() == engine.recounted() == (1, 0, 1, 0, 0)
    assert engine.ack(handle) == [True]


def test_an_acknowledgement_is_durable_whatever_the_claim_may_be(
    engine: Engine, connect: Callable[..., psycopg.Connection[Any]]
) -> None:
    engine.send("x")
    handle = engine.receive_one()[1]
    session = connect(autocommit=False)

    engine.on(session).receive(1, durable=False, acknowledge=[handle])

    assert session.execute("show synchronous_commit").fetchone() == ("on",)


def test_it_frees_the_key_of_a_message_in_flight(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(dedup_scope="in_flight")
    first = engine.send("x", deduplication_id="key")
    handle = engine.receive_one()[1]
    assert engine.send("x", deduplication_id="key") == first

    engine.receive(1, acknowledge=[handle])

    assert engine.send("x", deduplication_id="key") != first


def test_it_frees_a_place_in_flight(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(max_in_flight=1)
    engine.send(1)
    engine.send(2)
    handle = engine.receive_one()[1]
    assert engine.receive(5) == []

    assert [row[3] for row in engine.receive(5, acknowledge=[handle])] == [2]
