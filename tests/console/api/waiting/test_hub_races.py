"""Requests that end at a bad moment lose no message: every lease has a holder."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from console.api.waiting import hub as hubs
from tests.console.api.waiting.hubs import LONG, TestedHub, announced, start, until, with_hub
from tests.engine import Engine

POLLS = 200
SENDS = 150


def leased(engine: Engine) -> set[int]:
    return {
        row[0] for row in engine.rows("select message_id from signalbox.lease where queue_id = %s", engine.queue_id)
    }


@pytest.fixture
def never_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hub that is woken by announcements only."""
    monkeypatch.setattr(hubs, "LOOK_SECONDS", 3600.0)


async def claimed_and_unanswered(hub: TestedHub, engine: Engine) -> int:
    """Claim a message for a waiting request whose answer is not sent yet."""
    hub.client.gate.clear()
    message_id = announced(engine.connection, lambda: engine.send("wanted"))
    await asyncio.wait_for(hub.client.claimed.wait(), LONG)
    assert leased(engine) == {message_id}
    return int(message_id)


def test_a_message_claimed_for_one_that_is_gone_goes_to_the_next(dsn: str, engine: Engine, never_looks: None) -> None:
    async def story(hub: TestedHub) -> None:
        first = start(hub, engine.queue)
        await until(lambda: hub.client.claims, "the first look")
        second = start(hub, engine.queue)
        await until(lambda: hub.waiting == 2, "both polls in line")
        message_id = await claimed_and_unanswered(hub, engine)
        first.cancel()
        await until(first.done, "the end of the first")
        hub.client.gate.set()
        assert [one.id for one in await second] == [message_id]

    with_hub(dsn, story)


def test_a_message_claimed_for_one_that_is_gone_goes_back_at_once(dsn: str, engine: Engine, never_looks: None) -> None:
    async def story(hub: TestedHub) -> None:
        poll = start(hub, engine.queue)
        await until(lambda: hub.client.claims, "the first look")
        message_id = await claimed_and_unanswered(hub, engine)
        poll.cancel()
        await until(poll.done, "the end of the poll")
        hub.client.gate.set()
        await until(lambda: not leased(engine), "the message given back")
        assert [row[0] for row in engine.receive()] == [message_id]

    with_hub(dsn, story)


def test_one_that_is_cancelled_when_it_was_just_served_hands_its_message_on(
    dsn: str, engine: Engine, never_looks: None
) -> None:
    async def story(hub: TestedHub) -> None:
        first = start(hub, engine.queue)
        await until(lambda: hub.client.claims, "the first look")
        second = start(hub, engine.queue)
        await until(lambda: hub.waiting == 2, "both polls in line")
        (line,) = hub._lines.values()
        serve = line.hand_on

        def serve_and_cancel(*arguments: Any) -> None:
            serve(*arguments)
            first.cancel()  # between being served and going on

        line.hand_on = serve_and_cancel  # type: ignore[method-assign]
        message_id = announced(engine.connection, lambda: engine.send("wanted"))
        assert [one.id for one in await second] == [message_id]
        await until(first.cancelled, "the end of the first")

    with_hub(dsn, story)


def test_a_stop_during_a_claim_gives_its_messages_back(dsn: str, engine: Engine, never_looks: None) -> None:
    async def story(hub: TestedHub) -> None:
        poll = start(hub, engine.queue)
        await until(lambda: hub.client.claims, "the first look")
        await claimed_and_unanswered(hub, engine)
        hub.stop()
        assert await poll == []
        hub.client.gate.set()

    with_hub(dsn, story)  # closing waits for what is under way
    assert leased(engine) == set()
    assert engine.counted() == engine.recounted() == (1, 0, 0, 0, 0)


@pytest.mark.parametrize("seed", range(3))
def test_no_message_is_leased_to_a_request_that_has_gone(dsn: str, engine: Engine, seed: int) -> None:
    dice = random.Random(seed)
    given: list[int] = []

    async def poll(hub: TestedHub) -> None:
        wish: dict[str, Any] = {"consumer": dice.choice([None, "ana", "bea"])}
        messages = await hub.receive(
            engine.queue, dice.choice([1, 1, 3]), wait_seconds=dice.choice([0.05, LONG]), **wish
        )
        given.extend(one.id for one in messages)

    async def story(hub: TestedHub) -> None:
        polls = []
        for number in range(POLLS):
            polls.append(asyncio.create_task(poll(hub)))
            if number < SENDS:
                announced(engine.connection, lambda number=number: engine.send(number))
            if dice.random() < 0.5:
                dice.choice(polls).cancel()
            if dice.random() < 0.7:
                await asyncio.sleep(0)
        for one in dice.sample(polls, POLLS // 4):
            one.cancel()
        await until(lambda: not hub.waiting or len(given) >= SENDS, "all messages delivered, or no request left")
        hub.stop()
        await asyncio.gather(*polls, return_exceptions=True)

    with_hub(dsn, story)
    assert len(given) == len(set(given))
    assert leased(engine) == set(given)
    ready = engine.value("select count(*) from signalbox.ready where queue_id = %s", engine.queue_id)
    assert ready + len(given) == SENDS
    assert engine.counted() == engine.recounted()
