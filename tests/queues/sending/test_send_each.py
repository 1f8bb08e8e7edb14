"""Many messages at once, each for itself: what is refused keeps none of the others back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from signalbox import Client, DeduplicationConflict, InvalidArgument, PayloadTooLarge, QueueNotFound, QuotaExceeded
from signalbox.calls.sending import Refused, SendOptions
from tests.engine import Engine
from tests.races.sessions import finish, start, until_waiting

Made = Callable[..., Engine]
Connect = Callable[..., psycopg.Connection[Any]]


def send_each(engine: Engine, *messages: tuple[object, SendOptions]) -> list[int | Refused]:
    return Client(engine.connection).send_each(engine.queue, messages)


def plain(*payloads: object) -> list[tuple[object, SendOptions]]:
    return [(payload, {}) for payload in payloads]


def test_all_are_sent_in_their_order(engine: Engine) -> None:
    ids = send_each(engine, *plain(*range(250)))

    assert ids == sorted(ids, key=int)  # type: ignore[type-var]
    assert [row[3] for row in engine.receive(1000)] == list(range(250))
    assert engine.counted() == engine.recounted()


def test_what_is_too_large_keeps_nothing_else_back(make_engine: Made) -> None:
    engine = make_engine(max_payload_bytes=20)
    large = {0, 3, 4, 77, 99}
    answers = send_each(engine, *plain(*("x" * 21 if place in large else '"' * 20 for place in range(100))))

    assert {place for place, answer in enumerate(answers) if isinstance(answer, PayloadTooLarge)} == large
    sent = [answer for answer in answers if isinstance(answer, int)]
    assert [row[0] for row in engine.receive(1000)] == sent
    assert [row[1] for row in engine.rows("select 1, unnest(%s::bigint[])", sent)] == sorted(sent)
    assert engine.counted() == engine.recounted()


def test_what_is_wrong_before_it_is_sent_is_named_at_its_place(engine: Engine) -> None:
    answers = send_each(engine, ("a", {}), ({"nul": "\x00"}, {}), ("b", {"priority": 32768}), ("c", {"group_id": ""}))

    assert isinstance(answers[0], int)
    fields = [answer.field for answer in answers[1:] if isinstance(answer, InvalidArgument)]
    assert fields == ["payload", "priority", "group_id"]
    assert engine.recounted()[0] == 1


def test_a_deduplication_id_with_another_body_is_refused_and_a_repetition_is_not(engine: Engine) -> None:
    first = engine.send("first", deduplication_id="d1")
    answers = send_each(
        engine,
        ("first", {"deduplication_id": "d1"}),
        ("other", {"deduplication_id": "d1"}),
        ("twice", {"deduplication_id": "d2"}),
        ("twice", {"deduplication_id": "d2"}),
    )

    assert answers[0] == first
    assert isinstance(answers[1], DeduplicationConflict)
    assert answers[1].first_message_id == first
    assert answers[2] == answers[3]
    assert engine.recounted()[0] == 2


def test_as_many_go_as_a_quota_leaves(make_engine: Made) -> None:
    engine = make_engine(max_backlog_messages=40)
    answers = send_each(engine, *plain(*range(100)))

    sent = [answer for answer in answers if isinstance(answer, int)]
    assert len(sent) == 40
    assert all(isinstance(answer, int | QuotaExceeded) for answer in answers)
    assert engine.counted() == engine.recounted() == (40, 0, 0, 0, 0)


@pytest.mark.parametrize("limit", [{"max_backlog_messages": 40}, {"publish_rate_per_second": 40}])
def test_what_was_tried_in_vain_takes_nothing_of_a_quota(make_engine: Made, limit: dict[str, int]) -> None:
    engine = make_engine(**limit)
    first = engine.send("first", deduplication_id="d1")
    messages: list[tuple[object, SendOptions]] = plain(*range(30))
    messages[17] = ("other", {"deduplication_id": "d1"})
    messages[23] = ("too urgent", {"priority": 32768})

    answers = send_each(engine, *messages)

    assert isinstance(answers[17], DeduplicationConflict)
    assert answers[17].first_message_id == first
    assert isinstance(answers[23], InvalidArgument)
    assert sum(isinstance(answer, int) for answer in answers) == 28
    assert engine.counted() == engine.recounted() == (29, 0, 0, 0, 0)


def test_an_unknown_queue_is_an_error_even_for_nothing(engine: Engine) -> None:
    for messages in (plain(1), plain()):
        with pytest.raises(QueueNotFound):
            Client(engine.connection).send_each(f"{engine.queue}-none", messages)


def test_more_than_a_thousand_are_refused_together(engine: Engine) -> None:
    with pytest.raises(InvalidArgument, match="1000"):
        send_each(engine, *plain(*range(1001)))
    assert engine.recounted()[0] == 0


def test_a_rollback_takes_all_of_it_back(engine: Engine, connect: Connect) -> None:
    caller = engine.on(connect(autocommit=False))
    send_each(caller, *plain(1, 2), ("x", {"priority": 32768}))
    caller.connection.rollback()

    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


def test_two_that_are_refused_in_part_never_wait_in_a_circle(make_engine: Made, connect: Connect) -> None:
    """Two sends want the same ids in opposite orders, and retry in parts; one id is locked until both wait."""
    engine = make_engine(mode="fifo", max_payload_bytes=20)
    one, other, holder = engine.on(connect()), engine.on(connect()), engine.on(connect(autocommit=False))
    holder.send("held", group_id="k2", deduplication_id="k2")
    bad: tuple[object, SendOptions] = ("x" * 30, {})
    names = [f"k{number}" for number in range(6)]
    there = [(name, SendOptions(group_id=name, deduplication_id=name)) for name in names]
    first = start(send_each, one, bad, *there)
    second = start(send_each, other, bad, *reversed(there))
    until_waiting(engine.connection, one.connection, other.connection)
    holder.connection.rollback()

    assert finish(first)[1:] == finish(second)[:0:-1]
    assert sorted(row[3] for row in engine.receive(10)) == names
    assert engine.counted() == engine.recounted()
