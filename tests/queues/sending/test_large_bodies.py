"""Pointers to large bodies: who may make them, and where they are as long as something needs the body."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine

Connect = Callable[..., psycopg.Connection[Any]]
BYTES = 300_000
SEND = "select signalbox.send(%s, 'null', body_sha256 => %s)"


def hash_of(engine: Engine, what: str = "body") -> bytes:
    """A hash of the test's own, so that tests do not share bodies."""
    return hashlib.sha256(f"{engine.queue} {what}".encode()).digest()


def claim(engine: Engine, what: str = "body") -> bytes:
    sha256 = hash_of(engine, what)
    engine.value("select signalbox.claim_body(%s, %s)", sha256, BYTES)
    return sha256


def send(engine: Engine, what: str = "body") -> tuple[int, bytes]:
    sha256 = claim(engine, what)
    return engine.value(SEND, engine.queue, sha256), sha256


def bodies(engine: Engine, most: int = 10) -> list[Any]:
    return [row[0] for row in engine.rows("select body from signalbox.receive(%s, %s)", engine.queue, most)]


def pointer(sha256: bytes) -> dict[str, Any]:
    return {"sha256": sha256.hex(), "bytes": BYTES}


def needed(engine: Engine, sha256: bytes) -> bool:
    """Would the collector leave it alone? Asked in a transaction that is rolled back."""
    with engine.connection.transaction(force_rollback=True):
        return dropped(engine, 0, sha256) is False


def dropped(engine: Engine, grace_seconds: float, sha256: bytes) -> bool:
    """Return whether the collector, which reads right before the change, drops this body."""
    before = (int.from_bytes(sha256) - 1).to_bytes(32)
    rows = engine.rows("select * from signalbox.drop_body(%s, %s)", grace_seconds, before)
    return (sha256, True) in rows


def refusal(engine: Engine, statement: str, *parameters: Any) -> tuple[str | None, str | None]:
    with pytest.raises(psycopg.Error) as caught:
        engine.value(statement, *parameters)
    return caught.value.sqlstate, caught.value.diag.column_name


@pytest.mark.parametrize("most", [1, 10])
def test_a_message_points_to_its_body(engine: Engine, most: int) -> None:
    _, sha256 = send(engine)
    engine.send("small")

    assert [body for _ in range(2) for body in bodies(engine, most)] == [pointer(sha256), None]
    assert engine.counted() == engine.recounted() == (0, 0, 2, 0, 0)


def test_a_claim_says_whether_the_body_is_new(engine: Engine) -> None:
    sha256 = hash_of(engine)
    statement = "select signalbox.claim_body(%s, %s)"

    assert engine.value(statement, sha256, BYTES) is True
    assert engine.value(statement, sha256, BYTES) is False
    assert refusal(engine, statement, sha256, BYTES + 1) == ("SB400", "bytes")


@pytest.mark.parametrize("sha256", [b"", b"x" * 31, b"x" * 33, None])
def test_a_hash_has_32_bytes(engine: Engine, sha256: bytes | None) -> None:
    assert refusal(engine, "select signalbox.claim_body(%s, 1)", sha256) == ("SB400", "body_sha256")
    if sha256 is not None:
        assert refusal(engine, SEND, engine.queue, sha256) == ("SB400", "body_sha256")


@pytest.mark.parametrize("size", [0, -1, None])
def test_a_body_has_a_size(engine: Engine, size: int | None) -> None:
    assert refusal(engine, "select signalbox.claim_body(%s, %s)", hash_of(engine), size) == ("SB400", "bytes")


def test_an_unclaimed_body_cannot_be_referenced(engine: Engine) -> None:
    assert refusal(engine, SEND, engine.queue, hash_of(engine, "unknown")) == ("SB400", "body_sha256")
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


def test_a_payload_cannot_pass_for_a_pointer(engine: Engine) -> None:
    forged = {"sha256": hash_of(engine).hex(), "bytes": BYTES}
    engine.send({"body": forged, "body_sha256": forged["sha256"]}, attributes={"body": forged})

    assert bodies(engine) == [None]


def test_a_message_has_one_body(engine: Engine) -> None:
    sha256 = claim(engine)

    assert refusal(engine, "select signalbox.send(%s, '1', body_sha256 => %s)", engine.queue, sha256) == (
        "SB400",
        "payload",
    )


def test_a_queue_with_a_lower_limit_takes_no_large_bodies(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(max_payload_bytes=262_143)
    sha256 = claim(engine)

    assert refusal(engine, SEND, engine.queue, sha256) == ("SB413", "payload")


def test_a_queue_limits_large_bodies_without_the_quotes_of_a_string(make_engine: Callable[..., Engine]) -> None:
    engine, smaller = make_engine(max_large_body_bytes=BYTES - 2), make_engine(max_large_body_bytes=BYTES - 3)
    _, sha256 = send(engine)

    assert refusal(engine, SEND, smaller.queue, sha256) == ("SB413", "payload")


def test_a_batch_mixes_large_and_small(engine: Engine) -> None:
    first, third = claim(engine, "first"), claim(engine, "third")
    ids = [
        row[0]
        for row in engine.rows(
            "select signalbox.send_batch(%s, %s, body_sha256s => %s)",
            engine.queue,
            [Jsonb(None), Jsonb("small"), Jsonb(None)],
            [first, None, third],
        )
    ]

    rows = engine.rows("select message_id, payload, body from signalbox.receive(%s, 10)", engine.queue)
    assert rows == [
        (ids[0], None, pointer(first)),
        (ids[1], "small", None),
        (ids[2], None, pointer(third)),
    ]
    assert refusal(
        engine, "select signalbox.send_batch(%s, array['1']::jsonb[], body_sha256s => '{}')", engine.queue
    ) == ("SB400", "body_sha256s")


def test_a_duplicate_is_one_with_the_same_body(engine: Engine) -> None:
    one, other = claim(engine, "one"), claim(engine, "other")
    statement = "select signalbox.send(%s, 'null', deduplication_id => 'key', body_sha256 => %s)"
    message_id = engine.value(statement, engine.queue, one)

    assert engine.value(statement, engine.queue, one) == message_id
    assert refusal(engine, statement, engine.queue, other) == ("SB409", "deduplication_id")
    assert refusal(engine, "select signalbox.send(%s, 'null', deduplication_id => 'key')", engine.queue) == (
        "SB409",
        "deduplication_id",
    )


@pytest.mark.parametrize("options", ["delay_seconds => 0.000001", "group_id => 'g'", "priority => 3"])
def test_every_way_in_keeps_the_pointer(make_engine: Callable[..., Engine], options: str) -> None:
    engine = make_engine(group_max_in_flight=2)
    sha256 = claim(engine)
    engine.value(f"select signalbox.send(%s, 'null', {options}, body_sha256 => %s)", engine.queue, sha256)

    assert bodies(engine) == [pointer(sha256)]


@pytest.mark.parametrize("most", [1, 10])
def test_the_pointer_follows_death_redrive_and_a_second_life(make_engine: Callable[..., Engine], most: int) -> None:
    engine, other = make_engine(), make_engine()
    message_id, sha256 = send(engine)
    engine.nack(engine.receive_one()[1], reason="rejected")
    letter = "select dead_letter_id, body_sha256, body_bytes from signalbox.dead_letter where message_id = %s"
    ((letter_id, kept, size),) = engine.rows(letter, message_id)
    assert (bytes(kept), size) == (sha256, BYTES)

    engine.rows("select * from signalbox.redrive(array[%s::bigint], %s)", letter_id, other.queue)
    forget_log(engine, message_id)
    assert bodies(other, most) == [pointer(sha256)]
    assert needed(engine, sha256)  # by message_kept


def forget_log(engine: Engine, message_id: int) -> None:
    """Rows of a message that drop_segment leaves: its log row and its pointer."""
    engine.connection.execute("delete from signalbox.message where message_id = %s", [message_id])
    engine.connection.execute("delete from signalbox.body_pointer where message_id = %s", [message_id])


def test_a_dead_letter_keeps_its_body_when_the_log_is_gone(engine: Engine) -> None:
    message_id, sha256 = send(engine)
    engine.nack(engine.receive_one()[1], reason="rejected")
    forget_log(engine, message_id)
    assert needed(engine, sha256)

    engine.value(
        "select signalbox.delete_dead_letters(array[dead_letter_id]) from signalbox.dead_letter where message_id = %s",
        message_id,
    )
    assert not needed(engine, sha256)


def test_one_that_is_received_from_its_dead_letter_queue_brings_its_body_along(engine: Engine) -> None:
    message_id, sha256 = send(engine)
    engine.nack(engine.receive_one()[1], reason="rejected")
    forget_log(engine, message_id)

    ((new_id, handle, body),) = engine.rows(
        "select message_id, receipt_handle, body from signalbox.receive(%s, 10)", f"{engine.queue}-dlq"
    )

    assert body == pointer(sha256)
    assert needed(engine, sha256)
    engine.nack(handle, reason="rejected")
    forget_log(engine, new_id)
    assert needed(engine, sha256)


def test_the_log_needs_the_body_until_its_segment_goes(engine: Engine) -> None:
    """A settled message's page shows its payload as long as the log has it."""
    message_id, sha256 = send(engine)
    engine.ack(engine.receive_one()[1])
    assert needed(engine, sha256)

    forget_log(engine, message_id)
    assert not needed(engine, sha256)


def test_a_segment_takes_its_pointers_along_and_leaves_those_of_live_messages(engine: Engine) -> None:
    number = 900_000_000
    settled, live = claim(engine, "settled"), claim(engine, "live")
    engine.value("select signalbox._ensure_segment(%s)", number * 1_000_000 + 1)
    for place, sha256 in enumerate((settled, live), start=1):
        engine.connection.execute(
            "insert into signalbox.message (message_id, queue_id, payload, priority, sent_at, body_sha256, body_bytes)"
            " values (%s, %s, 'null', 0, now(), %s, %s)",
            [number * 1_000_000 + place, engine.queue_id, sha256, BYTES],
        )
        engine.connection.execute(
            "insert into signalbox.body_pointer values (%s, %s)", [sha256, number * 1_000_000 + place]
        )
    engine.connection.execute(
        "insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id)"
        " values (%s, 0, 0, clock_timestamp(), %s)",
        [engine.queue_id, number * 1_000_000 + 2],
    )

    engine.connection.execute(f"alter table signalbox.message detach partition signalbox.message_{number}")
    assert needed(engine, settled)
    engine.value("select signalbox.drop_segment(%s)", number)

    assert not needed(engine, settled)
    assert needed(engine, live)
    assert bodies(engine) == [pointer(live)]


def test_a_body_that_was_claimed_lately_stays(engine: Engine) -> None:
    sha256 = claim(engine)

    with engine.connection.transaction(force_rollback=True):
        assert not dropped(engine, 3600, sha256)
        assert dropped(engine, 0, sha256)


def test_the_collector_walks_on_from_where_it_was(engine: Engine) -> None:
    """A thousand at a time, and no row at the end."""
    first, last = b"\x00" * 32, b"\xff" * 32
    with engine.connection.transaction(force_rollback=True):
        engine.connection.execute("delete from signalbox.large_body")
        engine.connection.execute(
            "insert into signalbox.large_body (sha256, bytes)"
            " select sha256(convert_to(n::text, 'UTF8')), 1 from generate_series(1, 1500) n"
        )
        ((reached, was_dropped),) = engine.rows("select * from signalbox.drop_body(3600, %s)", first)
        assert not was_dropped
        seen = "select count(*) from signalbox.large_body where sha256 <= %s"
        assert engine.value(seen, reached) == 1000
        ((reached, was_dropped),) = engine.rows("select * from signalbox.drop_body(3600, %s)", reached)
        assert engine.value(seen, reached) == 1500
        assert engine.rows("select * from signalbox.drop_body(0, %s)", reached) == []
        assert engine.rows("select * from signalbox.drop_body(0, %s)", last) == []


@pytest.mark.parametrize("grace", [-1, None, "NaN"])
def test_a_grace_is_a_number_of_seconds(engine: Engine, grace: int | None) -> None:
    assert refusal(engine, "select signalbox.drop_body(%s)", grace) == ("SB400", "grace_seconds")


@pytest.mark.parametrize("statement", ["claim_body('\\x00', 1)", "drop_body(0)"])
def test_claims_need_to_see_what_is_committed(connect: Connect, statement: str) -> None:
    session = connect()
    session.execute("begin isolation level repeatable read")

    with pytest.raises(psycopg.Error) as caught:
        session.execute(f"select signalbox.{statement}")
    assert caught.value.sqlstate == "SB425"


def test_small_messages_leave_no_trace_of_any_of_this(engine: Engine) -> None:
    message_id = engine.send("small")

    assert engine.rows("select body_sha256, body_bytes from signalbox.message where message_id = %s", message_id) == [
        (None, None)
    ]
    assert engine.rows("select * from signalbox.body_pointer where message_id = %s", message_id) == []
