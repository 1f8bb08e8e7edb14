"""A receipt handle is worth something only to the delivery it was made for (hazard 25, invariant 3)."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import psycopg
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
    """Handle of an expired delivery, whose message another consumer holds."""
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


ACK_ALL = "select array_agg(acked) from signalbox.ack(%s)"


def of_older_deliveries(engine: Engine, *, claims: int) -> list[str]:
    """Handles of six messages from several expired claims, all held by another consumer by now."""
    for number in range(6):
        engine.send(number)
    handles = [row[1] for _ in range(claims) for row in engine.receive(6 // claims)]
    engine.rows("update signalbox.lease set deadline = now() where queue_id = %s returning 1", engine.queue_id)
    assert [row[2] for row in engine.receive(10)] == [2] * 6
    return handles


@pytest.mark.parametrize("claims", [1, 2, 6])
def test_handles_of_older_deliveries_do_nothing_together_either(engine: Engine, claims: int) -> None:
    handles = of_older_deliveries(engine, claims=claims)

    assert engine.value(ACK_ALL, handles) == [False] * 6
    assert engine.recounted() == (0, 0, 6, 0, 0)


@pytest.mark.parametrize("claims", [1, 2])
def test_without_the_nonce_older_deliveries_would_settle_the_newer(
    engine: Engine, naive: NaiveVerbs, claims: int
) -> None:
    naive.install(
        "_ack_claims", {"l.nonce = v_given.nonces[width_bucket(l.message_id, v_given.ids)]\n            and ": ""}
    )
    naive.install("ack", {NONCE_CHECKS["ack"]: ""})
    handles = of_older_deliveries(engine, claims=claims)

    assert naive.engine(engine).value(ACK_ALL, handles) == [True] * 6


@pytest.mark.parametrize("newer_first", [False, True])
def test_two_handles_of_one_message_are_distinguished_in_one_call(engine: Engine, newer_first: bool) -> None:
    older = of_older_deliveries(engine, claims=2)
    newer = [
        f"{queue}.{message}.{nonce}"
        for queue, message, nonce in engine.rows(
            "select queue_id, message_id, nonce from signalbox.lease where queue_id = %s order by 2", engine.queue_id
        )
    ]
    both = [newer[0], older[0]] if newer_first else [older[0], newer[0]]

    assert engine.ack(*both, newer[1], newer[1], older[2]) == [newer_first, not newer_first, True, True, False]
    assert engine.counted() == engine.recounted() == (0, 0, 4, 0, 0)


def test_live_and_spent_handles_of_many_claims_and_queues_are_distinguished(make_engine: Callable[..., Engine]) -> None:
    engine, other = make_engine(), make_engine()
    for queue in (engine, other):
        for number in range(4):
            queue.send(number)
    first, second = ([row[1] for row in engine.receive(2)] for _ in range(2))
    third = [row[1] for row in other.receive(4)]
    engine.ack(first[0], third[3])

    assert engine.ack(third[0], second[1], first[0], first[1], third[3]) == [True, True, False, True, False]
    assert engine.counted() == engine.recounted() == (0, 0, 1, 0, 0)
    assert other.counted() == other.recounted() == (0, 0, 2, 0, 0)


def test_handles_run_together_into_one_are_refused(engine: Engine) -> None:
    """Handles would be split like the others of their claim, and answers would be of other handles than given."""
    for number in range(3):
        engine.send(number)
    first, second, third = (row[1] for row in engine.receive(3))

    with pytest.raises(psycopg.Error) as caught:
        engine.ack(third, f"{first},{second}")

    assert caught.value.sqlstate == "SB400"
    assert engine.recounted() == (0, 0, 3, 0, 0)


def test_every_claim_has_a_random_nonce_of_its_own(engine: Engine) -> None:
    for number in range(20):
        engine.send(number)

    nonces = {uuid.UUID(engine.receive_one()[1].split(".")[2]) for _ in range(20)}

    assert len(nonces) == 20
    assert {nonce.version for nonce in nonces} == {4}


@pytest.mark.parametrize("verb", USES)
def test_a_handle_is_bound_to_its_queue(make_engine: Callable[..., Engine], verb: str) -> None:
    """The right to ack on one queue cannot be used with a handle rewritten from another."""
    engine, other = make_engine(), make_engine()
    engine.send("work")
    queue_id, rest = engine.receive_one()[1].split(".", 1)
    assert int(queue_id) == engine.queue_id

    assert engine.value(USES[verb], f"{other.queue_id}.{rest}") is False
    assert engine.recounted() == (0, 0, 1, 0, 0)


USES_OF_MANY = {
    "ack": "select acked from signalbox.ack(%s)",
    "extend": "select deadline is not null from signalbox.change_visibility_batch(%s, 60)",
    "give back": "select deadline is not null from signalbox.change_visibility_batch(%s, 0)",
}


@pytest.mark.parametrize("claims", [1, 2], ids=["one claim", "two claims"])
@pytest.mark.parametrize("use", USES_OF_MANY)
def test_handles_are_bound_to_their_queue_together_too(
    make_engine: Callable[..., Engine], use: str, claims: int
) -> None:
    engine, other = make_engine(), make_engine()
    for number in range(4):
        engine.send(number)
    handles = [row[1].split(".", 1)[1] for _ in range(claims) for row in engine.receive(4 // claims)]

    answers = engine.rows(USES_OF_MANY[use], [f"{other.queue_id}.{handle}" for handle in handles])

    assert answers == [(False,)] * 4
    assert engine.counted() == engine.recounted() == (0, 0, 4, 0, 0)


@pytest.mark.parametrize("claims", [1, 2, 6])
def test_handles_of_older_deliveries_give_nothing_back_either(engine: Engine, claims: int) -> None:
    handles = of_older_deliveries(engine, claims=claims)

    assert engine.rows(USES_OF_MANY["give back"], handles) == [(False,)] * 6
    assert engine.counted() == engine.recounted() == (0, 0, 6, 0, 0)


def test_a_handle_settles_once(engine: Engine) -> None:
    engine.send("work")
    handle = engine.receive_one()[1]

    assert engine.ack(handle, handle) == [True, True]  # twice in one call is one ack, and both report it
    assert engine.ack(handle) == [False]
    assert engine.nack(handle) is None
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


ACK_RETURNED = "select signalbox.ack_returned(%s, 1)"


def test_the_last_handle_ends_a_message_that_was_not_received_again(
    engine: Engine, connect: Callable[..., psycopg.Connection[object]], let_leases_end: Callable[[str], None]
) -> None:
    for number in range(3):
        engine.send(number)
    handle = engine.receive_one()[1]
    let_leases_end(engine.queue)
    assert engine.value(ACK_RETURNED, handle) is False  # the lease has not returned, and ack ends it
    other = engine.on(connect())
    other.connection.execute("begin")
    assert len(other.receive(3)) == 3
    engine.connection.execute("set lock_timeout = '2s'")
    assert engine.value(ACK_RETURNED, handle) is False  # it is received at this moment
    other.connection.execute("rollback")
    assert len(engine.receive(2)) == 2
    engine.value("select signalbox._return_expired(%s, '-infinity', 100)", engine.queue_id)

    assert engine.value(ACK_RETURNED, handle) is True
    assert engine.value(ACK_RETURNED, handle) is False
    assert engine.counted() == engine.recounted() == (0, 0, 2, 0, 0)


def returned_twice(engine: Engine) -> str:
    """Handle of the first delivery of a message that was given back after its second."""
    engine.send("work")
    handles = []
    for _ in range(2):
        handles.append(engine.receive_one()[1])
        engine.value("select signalbox.change_visibility(%s, 0)", handles[-1])
    return str(handles[0])


def test_a_handle_before_the_last_ends_nothing(engine: Engine, naive: NaiveVerbs) -> None:
    handle = returned_twice(engine)
    assert engine.value(ACK_RETURNED, handle) is False
    naive.install("ack_returned", {" and n.receive_count = ack_returned.receive_count": ""})
    assert naive.engine(engine).value(ACK_RETURNED, handle) is True
