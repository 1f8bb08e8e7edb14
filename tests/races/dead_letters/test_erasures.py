"""Erasure beside receive, ack, nack, redrive, restore and sends: no waits, and nothing returns."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.engine import Engine
from tests.races.sessions import finish, start, until

Connect = Callable[..., psycopg.Connection[Any]]
ERASURE = 10**15
"""Erasure id without a job: rows of finds need no job."""
ERASE = "select message_id, state, before, became from signalbox.erase_messages(%s, %s, '{}', %s, 'again')"
OPEN = "select became, open from signalbox.erasure_find where erasure_id = %s and message_id = %s"
PERSON = {"customer": {"id": 4711}}
MARKER = {"erased": str(ERASURE)}


def erase(engine: Engine, *ids: int, live: str = "hold") -> list[tuple[Any, ...]]:
    return engine.rows(ERASE, ERASURE, list(ids), live)


def find(engine: Engine, message_id: int) -> tuple[str, bool]:
    [(became, still_open)] = engine.rows(OPEN, ERASURE, message_id)
    return became, still_open


def message_of(engine: Engine, letter: int) -> int:
    return int(engine.value("select message_id from signalbox.dead_letter where dead_letter_id = %s", letter))


def settle(engine: Engine, message_id: int) -> str:
    """Look until it is closed: transactions of other sessions may be under way."""

    def closed() -> bool:
        erase(engine, message_id)
        return not find(engine, message_id)[1]

    until(closed, "the end of all transactions of the first look")
    return find(engine, message_id)[0]


def test_a_claim_under_way_is_not_waited_for(engine: Engine, connect: Connect) -> None:
    """The consumer holds the clear payload and the ticket exists, so the message is held, and checked again."""
    message_id = engine.send(PERSON)
    consumer = engine.on(connect(autocommit=False))
    handle = consumer.receive_one()[1]

    assert erase(engine, message_id, live="delete") == [(message_id, "pending", None, "busy")]
    assert find(engine, message_id) == ("busy", True)
    consumer.connection.commit()
    assert erase(engine, message_id, live="delete") == [(message_id, "processing", "busy", "in_work")]
    engine.ack(handle)
    assert erase(engine, message_id, live="delete") == [(message_id, "completed", "in_work", "erased")]
    assert settle(engine, message_id) == "erased"
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


def test_a_death_under_way_does_not_bring_the_payload_back(engine: Engine, connect: Connect) -> None:
    """The nack has copied the payload into a dead letter that is not visible yet."""
    message_id = engine.send(PERSON)
    handle = engine.receive_one()[1]
    consumer = engine.on(connect(autocommit=False))
    consumer.nack(handle, reason="rejected", error="of 4711")

    assert erase(engine, message_id, live="redact")[0][3] == "in_work"
    consumer.connection.commit()
    assert erase(engine, message_id, live="redact")[0][1:] == ("dead", "in_work", "erased")
    assert engine.value("select payload from signalbox.dead_letter where message_id = %s", message_id) == MARKER


def test_what_began_before_the_first_look_keeps_a_find_open(engine: Engine, connect: Connect) -> None:
    """Any transaction that writes may have copied what was there: the find closes when it is over."""
    message_id = engine.send(PERSON)
    engine.ack(engine.receive_one()[1])
    other = connect(autocommit=False)
    other.execute("select pg_current_xact_id()")

    erase(engine, message_id)
    for _ in range(3):
        erase(engine, message_id)
        assert find(engine, message_id) == ("erased", True)
    other.commit()

    assert settle(engine, message_id) == "erased"


def test_a_redrive_under_way_is_left_and_its_message_found_again(engine: Engine, connect: Connect) -> None:
    letter = engine.die(PERSON)
    message_id = message_of(engine, letter)
    engine.connection.execute("delete from signalbox.message where queue_id = %s", [engine.queue_id])  # long gone
    mover = engine.on(connect(autocommit=False))
    mover.rows("select * from signalbox.redrive(array[%s::bigint])", letter)

    assert erase(engine, message_id, live="redact")[0] == (message_id, "dead", None, "busy")
    mover.connection.commit()
    assert erase(engine, message_id, live="redact")[0] == (message_id, "pending", "busy", "erased")

    assert engine.receive_one()[3] == MARKER
    assert engine.counted() == engine.recounted() == (0, 0, 1, 0, 0)


def test_a_redrive_passes_by_what_is_being_erased(engine: Engine, connect: Connect) -> None:
    letter = engine.die(PERSON)
    eraser = engine.on(connect(autocommit=False))
    erase(eraser, message_of(engine, letter))

    moved = finish(start(engine.rows, "select * from signalbox.redrive(array[%s::bigint])", letter))
    assert moved == []
    eraser.connection.commit()
    engine.rows("select * from signalbox.redrive(array[%s::bigint])", letter)
    assert engine.receive_one()[3] == MARKER


def test_a_restore_under_way_is_left(engine: Engine, connect: Connect) -> None:
    letter = engine.die(PERSON)
    message_id = message_of(engine, letter)
    removal = engine.value("select signalbox.open_trash_batch(3600)")
    engine.value("select signalbox.delete_dead_letters(array[%s::bigint], %s)", letter, removal)
    undoer = engine.on(connect(autocommit=False))
    undoer.rows("select * from signalbox.restore(%s)", removal)

    assert erase(engine, message_id)[0] == (message_id, "trash", None, "busy")
    undoer.connection.commit()
    assert erase(engine, message_id)[0] == (message_id, "dead", "busy", "erased")
    assert engine.value("select payload from signalbox.dead_letter where message_id = %s", message_id) == MARKER


@pytest.mark.parametrize("live", ["hold", "redact", "delete"])
def test_receiving_and_acknowledging_wait_for_no_erasure(engine: Engine, connect: Connect, live: str) -> None:
    """The erasure has not committed; consumers go on with the others, and with this one where it stays."""
    mine, others = engine.send(PERSON), engine.send({"n": 1})
    eraser = engine.on(connect(autocommit=False))
    erase(eraser, mine, live=live)

    rows = finish(start(engine.receive, 10))
    assert {row[0] for row in rows} == ({others} if live == "delete" else {mine, others})
    assert finish(start(engine.ack, *[row[1] for row in rows])) == [True] * len(rows)
    eraser.connection.commit()

    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


def test_two_erasures_of_the_same_are_one_after_the_other(engine: Engine, connect: Connect) -> None:
    letter = engine.die(PERSON)
    message_id = message_of(engine, letter)
    first = engine.on(connect(autocommit=False))
    erase(first, message_id)

    busy = engine.rows(ERASE, ERASURE + 1, [message_id], "hold")
    assert busy[0][3] == "busy"
    first.connection.commit()
    assert engine.rows(ERASE, ERASURE + 1, [message_id], "hold")[0][3] == "erased"


def test_a_body_that_is_stored_again_is_not_removed(engine: Engine, connect: Connect) -> None:
    """The collector had it; a sender uploads the same again and has not committed: the object is his."""
    sha256 = hashlib.sha256(engine.queue.encode()).digest()
    sender = engine.on(connect(autocommit=False))
    assert sender.value("select signalbox.claim_body(%s, 300000)", sha256) is True

    assert engine.value("select signalbox.erase_body(%s, %s)", ERASURE, sha256) is None

    sender.value("select signalbox.send(%s, 'null', body_sha256 => %s)", engine.queue, sha256)
    sender.connection.commit()
    assert engine.value("select signalbox.erase_body(%s, %s)", ERASURE, sha256) is False
