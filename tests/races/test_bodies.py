"""Senders of large bodies against their collector: no committed message points to an object that was removed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.sessions import finish, start, until_waiting

Connect = Callable[..., psycopg.Connection[Any]]
CLAIM = "select signalbox.claim_body(%s, 300000)"
SEND = "select signalbox.send(%s, 'null', body_sha256 => %s)"


@pytest.fixture
def sha256(engine: Engine) -> bytes:
    return hashlib.sha256(engine.queue.encode()).digest()


def drop(session: Engine, sha256: bytes) -> bytes | None:
    """The collector at this body: its hash when it may go."""
    before = (int.from_bytes(sha256) - 1).to_bytes(32)
    return sha256 if (sha256, True) in session.rows("select * from signalbox.drop_body(0, %s)", before) else None


def sessions(engine: Engine, connect: Connect, count: int = 2) -> list[Engine]:
    return [engine.on(connect(autocommit=False)) for _ in range(count)]


def known(engine: Engine, sha256: bytes) -> bool:
    return bool(engine.rows("select from signalbox.large_body where sha256 = %s", sha256))


def pointed(engine: Engine, sha256: bytes) -> bool:
    return bool(engine.rows("select from signalbox.body_pointer where sha256 = %s", sha256))


def test_the_collector_passes_by_what_a_sender_has_claimed(engine: Engine, connect: Connect, sha256: bytes) -> None:
    engine.value(CLAIM, sha256)  # left by an earlier message
    sender, collector = sessions(engine, connect)
    sender.value(CLAIM, sha256)

    assert drop(collector, sha256) is None  # and it did not wait
    sender.value(SEND, engine.queue, sha256)
    assert drop(collector, sha256) is None
    sender.connection.commit()
    assert drop(collector, sha256) is None

    assert known(engine, sha256)
    assert pointed(engine, sha256)


def test_a_sender_waits_for_the_collector_and_then_stores_the_body_again(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any], sha256: bytes
) -> None:
    engine.value(CLAIM, sha256)
    sender, collector = sessions(engine, connect)
    assert drop(collector, sha256) == sha256  # here the object is removed

    claiming = start(sender.value, CLAIM, sha256)
    until_waiting(observer, sender.connection)
    collector.connection.commit()

    assert finish(claiming) is True  # new: so the sender looks into the store after the object has gone
    sender.value(SEND, engine.queue, sha256)
    sender.connection.commit()
    assert known(engine, sha256)
    assert pointed(engine, sha256)


def test_a_sender_finds_it_claimed_when_the_collector_gave_up(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any], sha256: bytes
) -> None:
    engine.value(CLAIM, sha256)
    sender, collector = sessions(engine, connect)
    assert drop(collector, sha256) == sha256

    claiming = start(sender.value, CLAIM, sha256)
    until_waiting(observer, sender.connection)
    collector.connection.rollback()

    assert finish(claiming) is False
    sender.value(SEND, engine.queue, sha256)
    sender.connection.commit()
    assert drop(collector, sha256) is None


def test_a_send_without_a_claim_of_its_own_waits_too_and_is_refused(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any], sha256: bytes
) -> None:
    engine.value(CLAIM, sha256)
    sender, collector = sessions(engine, connect)
    assert drop(collector, sha256) == sha256

    sending = start(sender.value, SEND, engine.queue, sha256)
    until_waiting(observer, sender.connection)
    collector.connection.commit()

    with pytest.raises(psycopg.Error) as caught:
        finish(sending)
    assert caught.value.sqlstate == "SB400"


def test_a_message_committed_while_the_collector_looked_keeps_its_body(
    engine: Engine, connect: Connect, sha256: bytes, naive: Any
) -> None:
    """The collector asks again after it holds the row; one that does not is wrong, which this shows first."""
    engine.value(CLAIM, sha256)
    sender, collector = sessions(engine, connect)
    # What the collector's first statement sees is older than the sender's commit: played by a first look that is blind.
    blind = {"or signalbox._body_is_needed(v_body.sha256)": "or false"}
    sender.value(CLAIM, sha256)
    sender.value(SEND, engine.queue, sha256)
    sender.connection.commit()

    naive.install("drop_body", blind | {"if not signalbox._body_is_needed(v_body.sha256)": "if true"})
    assert drop(naive.engine(engine, collector.connection), sha256) == sha256
    collector.connection.rollback()

    naive.connection.execute("drop function naive.drop_body")
    naive.install("drop_body", blind)
    assert drop(naive.engine(engine, collector.connection), sha256) is None
    collector.connection.rollback()


def test_two_senders_of_one_known_body_do_not_wait_for_each_other(
    engine: Engine, connect: Connect, sha256: bytes
) -> None:
    engine.value(CLAIM, sha256)
    engine.connection.execute(
        "update signalbox.large_body set last_claimed_at = '-infinity' where sha256 = %s", [sha256]
    )
    senders = sessions(engine, connect, 3)

    for sender in senders:
        sender.connection.execute("set lock_timeout = '1ms'")
        assert sender.value(CLAIM, sha256) is False
        sender.value(SEND, engine.queue, sha256)
    for sender in senders:
        sender.connection.commit()

    assert engine.value("select count(*) from signalbox.body_pointer where sha256 = %s", sha256) == 3


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_two_senders_of_one_new_body_both_have_it(
    engine: Engine, connect: Connect, observer: psycopg.Connection[Any], sha256: bytes, ends: str
) -> None:
    first, second = sessions(engine, connect)
    assert first.value(CLAIM, sha256) is True

    claiming = start(second.value, CLAIM, sha256)
    until_waiting(observer, second.connection)
    getattr(first.connection, ends)()

    assert finish(claiming) is (ends == "rollback")
    second.value(SEND, engine.queue, sha256)
    second.connection.commit()
    assert known(engine, sha256)


def test_two_collectors_share_the_work(engine: Engine, connect: Connect, sha256: bytes) -> None:
    engine.value(CLAIM, sha256)
    one, other = sessions(engine, connect)

    assert drop(one, sha256) == sha256
    assert drop(other, sha256) is None
    one.connection.commit()
    assert not known(engine, sha256)


@pytest.mark.parametrize("move", ["death", "redrive", "dead-letter queue"])
@pytest.mark.parametrize("committed", [False, True])
def test_a_body_that_moves_is_needed_before_and_after(
    engine: Engine, connect: Connect, sha256: bytes, move: str, committed: bool
) -> None:
    """The collector sees a body in one of both places at any moment, from the log to a dead letter and on."""
    engine.value(CLAIM, sha256)
    message_id = engine.value(SEND, engine.queue, sha256)
    handle = engine.receive_one()[1]
    if move != "death":
        engine.nack(handle, reason="rejected")
        engine.connection.execute("delete from signalbox.body_pointer where message_id = %s", [message_id])
    mover, collector = sessions(engine, connect)

    if move == "death":
        mover.nack(handle, reason="rejected")
    elif move == "redrive":
        mover.rows(
            "select signalbox.redrive(array[dead_letter_id]) from signalbox.dead_letter where message_id = %s",
            message_id,
        )
    else:
        mover.rows("select * from signalbox.receive(%s)", f"{engine.queue}-dlq")
    if committed:
        mover.connection.commit()

    assert drop(collector, sha256) is None
