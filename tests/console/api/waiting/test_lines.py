"""Single line: order of service, shared claims, and return of unclaimed messages."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from console.api.waiting.line import Kind, Line, Waiter, waiter_of
from signalbox import InvalidArgument, Message, QueueNotFound


def message(number: int) -> Message:
    now = datetime.now(UTC)
    return Message(number, f"1.{number}.x", 1, None, {}, None, 0, now, now, 30.0)


class Source:
    """Source with messages to claim, which records each claim and can be slow or fail."""

    def __init__(self) -> None:
        self.ready: deque[int] = deque()
        self.claims: list[tuple[int, Kind]] = []
        self.given_back: list[int] = []
        self.deserted = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None
        self.line = Line(self.claim, self.give_back, self.desert)

    async def claim(self, wanted: int, kind: Kind) -> list[Message]:
        self.claims.append((wanted, kind))
        claimed = [message(self.ready.popleft()) for _ in range(min(wanted, len(self.ready)))]
        await self.gate.wait()
        if self.error:
            raise self.error
        return claimed

    def give_back(self, messages: list[Message]) -> None:
        self.given_back += [one.id for one in messages]

    def desert(self, _: Line) -> None:
        self.deserted += 1

    def join(self, *counts: int, **wishes: Any) -> list[Waiter]:
        waiters = [waiter_of(count, wishes.get("visibility_timeout"), wishes.get("consumer")) for count in counts]
        for waiter in waiters:
            self.line.join(waiter)
        return waiters

    async def look(self) -> None:
        if looker := self.line.look():
            await looker


def given(waiter: Waiter) -> list[int] | None:
    """The numbers of the messages that it was given; None while it waits."""
    return [one.id for one in waiter.answer.result()] if waiter.answer.done() else None


def in_a_loop(story: Callable[[Source], Coroutine[Any, Any, None]]) -> None:
    async def tell() -> None:
        await story(Source())

    asyncio.run(tell())


def test_who_came_first_is_served_first() -> None:
    async def story(source: Source) -> None:
        first, second, third = source.join(1, 2, 1)
        source.ready.extend([1, 2])
        await source.look()
        assert [given(waiter) for waiter in (first, second, third)] == [[1], [2], None]
        source.ready.append(3)
        await source.look()
        assert given(third) == [3]

    in_a_loop(story)


def test_polls_of_one_kind_share_a_claim_and_others_do_not() -> None:
    async def story(source: Source) -> None:
        alike = source.join(1, 1)
        (named,) = source.join(1, consumer="ana")
        (longer,) = source.join(1, consumer="ana", visibility_timeout=60)
        source.ready.extend([1, 2, 3, 4])
        await source.look()
        assert [given(waiter) for waiter in (*alike, named, longer)] == [[1], [2], [3], [4]]
        assert source.claims == [(2, Kind(None, None)), (1, Kind(None, "ana")), (1, Kind(60.0, "ana"))]

    in_a_loop(story)


def test_many_are_served_a_hundred_at_a_time() -> None:
    async def story(source: Source) -> None:
        waiters = source.join(*[1] * 250)
        source.ready.extend(range(250))
        await source.look()
        assert [given(waiter) for waiter in waiters] == [[number] for number in range(250)]
        assert [wanted for wanted, _ in source.claims] == [100, 100, 50]

    in_a_loop(story)


def test_one_may_ask_for_more_than_are_claimed_together() -> None:
    async def story(source: Source) -> None:
        (waiter,) = source.join(1000)
        source.ready.extend(range(1000))
        await source.look()
        assert given(waiter) == list(range(1000))

    in_a_loop(story)


def test_an_empty_queue_costs_one_claim_for_all_who_wait() -> None:
    async def story(source: Source) -> None:
        waiters = source.join(*[1] * 90)
        await source.look()
        assert len(source.claims) == 1
        assert all(source.line.has_looked_for(waiter) for waiter in waiters)

    in_a_loop(story)


def test_what_is_announced_during_a_claim_is_looked_for_after_it() -> None:
    async def story(source: Source) -> None:
        (waiter,) = source.join(1)
        source.gate.clear()
        looker = source.line.look()
        await asyncio.sleep(0)
        source.ready.append(1)
        assert source.line.look() is looker
        source.gate.set()
        assert looker is not None
        await looker
        assert given(waiter) == [1]

    in_a_loop(story)


def test_the_messages_of_one_that_left_during_the_claim_go_to_the_next() -> None:
    async def story(source: Source) -> None:
        first, second = source.join(1, 1)
        source.ready.append(1)
        source.gate.clear()
        looker = source.line.look()
        await asyncio.sleep(0)
        first.answer.cancel()
        source.line.leave(first)
        source.gate.set()
        assert looker is not None
        await looker
        assert given(second) == [1]
        assert source.given_back == []

    in_a_loop(story)


def test_unclaimed_messages_return_to_the_queue() -> None:
    async def story(source: Source) -> None:
        (gone,) = source.join(3, consumer="ana")
        (other,) = source.join(1, consumer="bea")
        source.ready.extend([1, 2])
        source.gate.clear()
        looker = source.line.look()
        await asyncio.sleep(0)
        gone.answer.cancel()
        source.line.leave(gone)
        source.gate.set()
        assert looker is not None
        await looker
        assert source.given_back == [1, 2]  # leased in ana's name, which is not bea's
        assert given(other) is None

    in_a_loop(story)


def test_messages_are_handed_on_to_polls_of_their_kind_only() -> None:
    async def story(source: Source) -> None:
        (other,) = source.join(1, consumer="bea")
        (alike,) = source.join(1, consumer="ana")
        source.line.hand_on(Kind(None, "ana"), [message(1), message(2)])
        assert (given(other), given(alike)) == (None, [1])
        assert source.given_back == [2]

    in_a_loop(story)


def test_a_refusal_is_for_those_it_was_said_to() -> None:
    async def story(source: Source) -> None:
        (refused,) = source.join(1, consumer="ana")
        source.error = QueueNotFound()
        await source.look()
        with pytest.raises(QueueNotFound):
            await refused.answer
        assert source.line.trouble is None

    in_a_loop(story)


def test_that_the_database_is_away_those_learn_who_have_just_come() -> None:
    async def story(source: Source) -> None:
        (early,) = source.join(1)
        await source.look()
        (late,) = source.join(1)
        source.error = psycopg.OperationalError("away")
        await source.look()
        assert given(early) is None
        with pytest.raises(psycopg.OperationalError):
            await late.answer
        source.error = None
        source.ready.append(1)
        await source.look()
        assert given(early) == [1]
        assert source.line.trouble is None

    in_a_loop(story)


def test_an_idle_line_reports_that_it_is_idle() -> None:
    async def story(source: Source) -> None:
        (waiter,) = source.join(1)
        source.gate.clear()
        looker = source.line.look()
        await asyncio.sleep(0)
        source.line.leave(waiter)
        assert source.deserted == 0
        source.gate.set()
        assert looker is not None
        await looker
        assert source.deserted == 1

    in_a_loop(story)


@pytest.mark.parametrize(
    ("field", "wishes"),
    [
        ("max_messages", (0, None, None)),
        ("max_messages", (1001, None, None)),
        ("visibility_timeout", (1, 43_201.0, None)),
        ("visibility_timeout", (1, -1.0, None)),
        ("consumer", (1, None, "a\x00b")),
    ],
)
def test_a_wish_that_cannot_be_is_refused_before_it_spoils_a_claim(field: str, wishes: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        waiter_of(*wishes)
    assert refusal.value.field == field
