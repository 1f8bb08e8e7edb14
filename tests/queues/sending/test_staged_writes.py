"""Messages staged by several processes are sent in one transaction, once; unsent stages expire."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.engine import Engine
from tests.races.sessions import finish, start, until_waiting
from tests.streams import make_log

Connect = Callable[..., psycopg.Connection[Any]]

SEND = "select signalbox.send_staged(%s, null, %s, %s, %s, %s)"


def stage(engine: Engine, *payloads: Any, at: uuid.UUID | None = None, place: int = 0, **options: Any) -> uuid.UUID:
    at = at or uuid.uuid4()
    names = "".join(f", {name} => %s" for name in options)
    engine.value(
        f"select signalbox.stage_messages(%s, %s, %s, null, %s{names})",
        at,
        place,
        engine.queue,
        [Jsonb(payload) for payload in payloads],
        *options.values(),
    )
    return at


def send(engine: Engine, stages: list[uuid.UUID], messages: int, writer: str | None = None, batch: int = 0) -> Any:
    return engine.value(SEND, engine.queue, stages, messages, writer, batch)


def payloads(engine: Engine) -> list[Any]:
    return [row[3] for row in engine.receive(100)]


def test_stages_are_sent_in_order_and_invisible_before(engine: Engine) -> None:
    first, second = stage(engine, 1, 2), stage(engine, 4)
    stage(engine, 3, at=first, place=1)
    assert payloads(engine) == []

    assert send(engine, [second, first], 4) == 4

    assert payloads(engine) == [4, 1, 2, 3]
    assert engine.counted() == engine.recounted()


def test_a_batch_is_sent_once_and_so_are_those_before_it(engine: Engine) -> None:
    writer = uuid.uuid4().hex

    assert send(engine, [stage(engine, 1)], 1, writer, 4) == 1
    assert send(engine, [stage(engine, 2)], 1, writer, 4) is None
    assert send(engine, [stage(engine, 3)], 1, writer, 3) is None
    assert send(engine, [stage(engine, 4)], 1, writer, 5) == 1

    assert payloads(engine) == [1, 4]
    assert engine.value("select count(*) from signalbox.staged_write where queue_id = %s", engine.queue_id) == 0


def test_of_two_that_send_a_batch_at_once_one_does(engine: Engine, connect: Connect) -> None:
    writer, other = uuid.uuid4().hex, connect(autocommit=False)
    stages = stage(engine, 1), stage(engine, 2)
    first, second = engine.on(connect(autocommit=False)), engine.on(other)
    assert send(first, [stages[0]], 1, writer, 0) == 1

    waiting = start(send, second, [stages[1]], 1, writer, 0)
    until_waiting(connect(), other)
    first.connection.commit()

    assert finish(waiting) is None
    second.connection.commit()
    assert payloads(engine) == [1]


def test_one_that_fails_leaves_the_batch_to_the_next(engine: Engine, connect: Connect) -> None:
    writer = uuid.uuid4().hex
    first = engine.on(connect(autocommit=False))
    at = stage(engine, 1)
    send(first, [at], 1, writer, 0)
    first.connection.rollback()

    assert send(engine, [at], 1, writer, 0) == 1
    assert payloads(engine) == [1]


def test_a_stage_that_is_gone_is_an_error_and_nothing_is_sent(engine: Engine) -> None:
    writer, at = uuid.uuid4().hex, stage(engine, 1, 2)

    with pytest.raises(psycopg.Error, match="have 2 messages for this target, and 3 were written"):
        send(engine, [at, uuid.uuid4()], 3, writer, 0)

    assert payloads(engine) == []
    assert send(engine, [at], 2, writer, 0) == 2


def test_a_stage_is_for_the_queue_it_was_made_for(engine: Engine, make_engine: Callable[..., Engine]) -> None:
    other = make_engine()

    with pytest.raises(psycopg.Error, match="have 0 messages for this target"):
        send(other, [stage(engine, 1)], 1)
    mixed = stage(engine, 1)
    stage(other, 2, at=mixed, place=1)
    for target in (engine, other):
        with pytest.raises(psycopg.Error, match="have 1 messages for this target"):
            send(target, [mixed], 1)


def test_a_stage_that_is_named_twice_is_sent_once(engine: Engine) -> None:
    at = stage(engine, 1)

    assert send(engine, [at, at], 1) == 1

    assert payloads(engine) == [1]


def test_of_two_that_send_a_stage_at_once_one_does(engine: Engine, connect: Connect) -> None:
    """Stages without a writer could not be distinguished by any ledger."""
    at, other = stage(engine, 1), connect(autocommit=False)
    first, second = engine.on(connect(autocommit=False)), engine.on(other)
    assert send(first, [at], 1) == 1

    waiting = start(send, second, [at], 1)
    until_waiting(connect(), other)
    first.connection.commit()

    with pytest.raises(psycopg.Error, match="have 0 messages for this target"):
        finish(waiting)
    second.connection.rollback()
    assert payloads(engine) == [1]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"priorities": [0, 32_768]}, "priority"),
        ({"delay_seconds": [0.0, -1.0]}, "delay_seconds"),
        ({"keys": ["", None]}, "group_id"),
        ({"deduplication_ids": ["d" * 201, None]}, "deduplication_id"),
        ({"trace_ids": ["t"]}, "trace_ids"),
    ],
)
def test_what_the_queue_would_refuse_is_refused_at_once(engine: Engine, options: dict[str, Any], field: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        stage(engine, 1, 2, **options)

    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SB400", field)


def test_a_closed_queue_takes_none(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine()
    at = stage(engine, 1)
    engine.value("select signalbox.configure_queue(%s, '{\"closed\": true}')", engine.queue)

    with pytest.raises(psycopg.Error, match="closed"):
        stage(engine, 2)
    with pytest.raises(psycopg.Error, match="closed"):
        send(engine, [at], 1)


def test_options_go_along(engine: Engine) -> None:
    at = stage(engine, 1, 2, priorities=[5, None], delay_seconds=[None, 3600.0], deduplication_ids=["d", None])

    assert send(engine, [at], 2) == 2
    assert send(engine, [stage(engine, 1, priorities=[5], deduplication_ids=["d"])], 1) == 1

    assert engine.counted()[:2] == (1, 1)


def test_too_many_locks_together_are_refused(engine: Engine) -> None:
    at = uuid.uuid4()
    for place in range(6):
        ids = [f"{place}-{n}" for n in range(1000)]
        stage(engine, *range(1000), at=at, place=place, deduplication_ids=ids)

    with pytest.raises(psycopg.Error, match="deduplication_id has 6000 values in one write"):
        send(engine, [at], 6000)
    assert engine.value("select signalbox.drop_staged(%s)", [at]) == 6000


def test_a_fifo_queue_gets_them_in_order(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(mode="fifo")
    at = stage(engine, 1, 2, 3, keys=["a", "b", "a"])

    assert send(engine, [at], 3) == 3

    assert payloads(engine) == [1, 2]


def test_a_stream_is_appended_to(connect: Connect) -> None:
    log, at = make_log(connect(), partitions=2), uuid.uuid4()
    log.value(
        "select signalbox.stage_messages(%s, 0, null, %s, %s, keys => %s)",
        at,
        log.name,
        [Jsonb(1), Jsonb(2)],
        ["k", "k"],
    )
    assert log.value("select signalbox.send_staged(null, %s, %s, 2, 'w', 0)", log.name, [at]) == 2

    log.group()
    assert log.consume() == [1, 2]
    with pytest.raises(psycopg.Error, match="priorities cannot be given for a stream"):
        log.value("select signalbox.stage_messages(%s, 0, null, %s, '{1}', priorities => '{1}')", at, log.name)


def test_unsent_stages_expire_after_a_day_and_writers_after_ninety(engine: Engine) -> None:
    old, new, writer = stage(engine, 1), stage(engine, 2), uuid.uuid4().hex
    send(engine, [stage(engine, 3)], 1, writer, 0)
    engine.value(
        "update signalbox.staged_write set staged_at = now() - interval '25 hours' where stage = %s returning 1", old
    )

    def left() -> tuple[list[uuid.UUID], int]:
        engine.value("select signalbox.clean_up()")
        stages = engine.rows("select stage from signalbox.staged_write where queue_id = %s", engine.queue_id)
        return [row[0] for row in stages], engine.value(
            "select count(*) from signalbox.write_ledger where writer = %s", writer
        )

    assert left() == ([new], 1)
    engine.value(
        "update signalbox.write_ledger set written_at = now() - interval '91 days' where writer = %s returning 1",
        writer,
    )
    assert left() == ([new], 0)
