"""A key above its rate or concurrency limit gets a time to retry; other keys are not affected."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from console.access.api_keys import Key, LimitExceeded, limits
from console.access.api_keys.limits import Limits

FREE = Key(1, "free", frozenset({"*"}), None, "", None, None)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def asked(held: Limits, key: Key, times: int = 1) -> int:
    """Number of admitted requests of a sequence."""

    async def ask() -> int:
        admitted = 0
        for _ in range(times):
            try:
                async with held.admitted(key):
                    admitted += 1
            except LimitExceeded:
                pass
        return admitted

    return asyncio.run(ask())


def refusal(held: Limits, key: Key) -> LimitExceeded:
    async def ask() -> None:
        async with held.admitted(key):
            pass

    with pytest.raises(LimitExceeded) as refused:
        asyncio.run(ask())
    return refused.value


def test_a_key_without_limits_is_always_admitted_and_not_noted(clock: Clock) -> None:
    held = Limits(clock)

    assert asked(held, FREE, 1_000) == 1_000
    assert held._uses == {}


def test_a_second_s_worth_may_come_at_once(clock: Clock) -> None:
    held, key = Limits(clock), replace(FREE, rate=10.0)

    assert asked(held, key, 30) == 10
    clock.now += 0.5
    assert asked(held, key, 30) == 5
    clock.now += 3_600
    assert asked(held, key, 30) == 10


def test_a_slow_key_may_always_make_one_request(clock: Clock) -> None:
    held, key = Limits(clock), replace(FREE, rate=0.1)

    assert asked(held, key, 5) == 1
    clock.now += 9.9
    assert asked(held, key) == 0
    clock.now += 0.1
    assert asked(held, key) == 1


def test_the_refusal_says_when_to_come_back_and_that_is_true(clock: Clock) -> None:
    held, key = Limits(clock), replace(FREE, rate=4.0)
    asked(held, key, 4)

    refused = refusal(held, key)

    assert (refused.limit_name, refused.limit, refused.actual) == ("rate", 4.0, None)
    assert refused.retry_after == pytest.approx(0.25)
    asked(held, key, 100)  # refusals put nothing off
    clock.now += refused.retry_after
    assert asked(held, key) == 1


def test_concurrent_requests_are_limited(clock: Clock) -> None:
    held, key = Limits(clock), replace(FREE, connections=2)

    async def scenario() -> None:
        async with AsyncExitStack() as under_way:
            for _ in range(2):
                await under_way.enter_async_context(held.admitted(key))
            with pytest.raises(LimitExceeded, match="2 requests under way") as refused:
                await under_way.enter_async_context(held.admitted(key))
            assert (refused.value.limit_name, refused.value.actual) == ("connections", 2)
            async with held.admitted(replace(key, key_id=2)):
                pass  # another request's slot
        async with held.admitted(key):
            pass

    asyncio.run(scenario())


def test_a_place_is_free_again_when_a_request_fails_or_its_client_goes(clock: Clock) -> None:
    held, key = Limits(clock), replace(FREE, connections=1)

    async def request() -> None:
        async with held.admitted(key):
            await asyncio.Event().wait()

    async def scenario() -> None:
        task = asyncio.create_task(request())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scenario())
    assert asked(held, key) == 1


def test_a_refusal_for_too_many_costs_nothing_of_the_rate(clock: Clock) -> None:
    held, key = Limits(clock), replace(FREE, connections=1, rate=2.0)

    async def scenario() -> int:
        async with held.admitted(key):
            for _ in range(10):
                with pytest.raises(LimitExceeded):
                    await held.admitted(key).__aenter__()
        return 1

    assert asyncio.run(scenario()) + asked(held, key, 10) == 2


def test_rested_keys_are_forgotten_and_busy_ones_are_not(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MANY_NOTED", 3)
    held = Limits(clock)
    busy, slow = replace(FREE, key_id=100, connections=1), replace(FREE, key_id=101, rate=0.01)

    async def scenario() -> None:
        async with held.admitted(busy):
            for number in range(10):
                clock.now += 1
                async with held.admitted(replace(FREE, key_id=number, rate=5.0)):
                    pass
                if number == 0:
                    async with held.admitted(slow):
                        pass
            assert {100, 101} <= set(held._uses)
            assert len(held._uses) <= 4

    asyncio.run(scenario())
    assert asked(held, slow) == 0
