"""A receipt handle is worth something only to the delivery it was made for (hazard 25, invariant 3)."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from tests.engine import Engine
from tests.races.naive import NaiveVerbs

NONCE_CHECKS = {
    "ack": " and l.nonce = v_nonce",
    "change_visibility_batch": " and l.nonce = g.nonce",
    "nack": "\n    and l.nonce = split_part(nack.receipt_handle, '.', 3)::uuid",
}
"""The words by which each verb tells one delivery from another."""

USES = {
    "ack": "select acked from signalbox.ack(array[%s])",
    "nack": "select signalbox.nack(%s) is not null",
    "change_visibility_batch": "select deadline is not null from signalbox.change_visibility_batch(array[%s], 60)",
}


def of_an_older_delivery(engine: Engine) -> str:
    """The handle of a delivery that expired; the message is with somebody else by now."""
    engine.send("work")
    handle: str = engine.receive_one(visibility_timeout=0)[1]
    assert engine.receive_one()[2] == 2
    return handle


@pytest.mark.parametrize("verb", USES)
def test_a_handle_of_an_older_delivery_does_nothing(engine: Engine, verb: str) -> None:
    handle = of_an_older_delivery(engine)

    assert engine.value(USES[verb], handle) is False
    assert engine.recounted() == (0, 0, 1, 0, 0)


@pytest.mark.parametrize("verb", USES)
def test_without_the_nonce_an_older_delivery_would_settle_the_newer(
    engine: Engine, naive: NaiveVerbs, verb: str
) -> None:
    naive.install(verb, {NONCE_CHECKS[verb]: ""})
    handle = of_an_older_delivery(engine)

    assert naive.engine(engine).value(USES[verb], handle) is True


def test_every_claim_has_a_random_nonce_of_its_own(engine: Engine) -> None:
    for number in range(20):
        engine.send(number)

    nonces = {uuid.UUID(engine.receive_one()[1].split(".")[2]) for _ in range(20)}

    assert len(nonces) == 20
    assert {nonce.version for nonce in nonces} == {4}


@pytest.mark.parametrize("verb", USES)
def test_a_handle_is_bound_to_its_queue(make_engine: Callable[..., Engine], verb: str) -> None:
    """Who may ack on one queue cannot use that right with a handle rewritten from another."""
    engine, other = make_engine(), make_engine()
    engine.send("work")
    queue_id, rest = engine.receive_one()[1].split(".", 1)
    assert int(queue_id) == engine.queue_id

    assert engine.value(USES[verb], f"{other.queue_id}.{rest}") is False
    assert engine.recounted() == (0, 0, 1, 0, 0)


def test_a_handle_settles_once(engine: Engine) -> None:
    engine.send("work")
    handle = engine.receive_one()[1]

    assert engine.ack(handle, handle) == [True, True]  # twice in one call is one ack, and both are told
    assert engine.ack(handle) == [False]
    assert engine.nack(handle) is None
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)
