"""The hub over a real database: who is woken by what, what it costs, and that nothing is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from console.api.waiting import hub as hubs
from console.api.waiting import places
from signalbox import QueueNotFound, QuotaExceeded
from tests.console.api.waiting.conftest import Limit
from tests.console.api.waiting.hubs import LONG, POOL_NAME, TestedHub, announced, start, until, with_hub
from tests.engine import Engine

Connect = Callable[..., psycopg.Connection[Any]]
MakeEngine = Callable[..., Engine]
CountPlaces = Callable[[Engine], int]

END_WHAT_HOLDS_PLACES = """
select pg_terminate_backend(pid) from pg_locks
where locktype = 'advisory' and objsubid = 2 and classid = (
  select (signalbox._long_poll_key(tenant_id)::bigint & 4294967295)::oid from signalbox.queue where queue_id = %s
)
"""


@pytest.fixture
def never_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hub that is woken by announcements only."""
    monkeypatch.setattr(hubs, "LOOK_SECONDS", 3600.0)


async def looked_after(hub: TestedHub, poll: asyncio.Task[Any]) -> None:
    """The poll has come all the way to waiting: rounds are made for those alone."""
    await until(
        lambda: poll.done() or any("receivable_queues" in statement for statement in hub.asked), "the poll looked after"
    )


def test_what_is_there_is_received_at_once(dsn: str, engine: Engine) -> None:
    ids = [engine.send(number) for number in range(3)]

    async def story(hub: TestedHub) -> None:
        assert [one.id for one in await hub.receive(engine.queue, 2)] == ids[:2]
        assert [one.id for one in await hub.receive(engine.queue, 2, wait_seconds=LONG)] == ids[2:]
        assert await hub.receive(engine.queue) == []
        assert await hub.receive(engine.queue, wait_seconds=0.01) == []

    with_hub(dsn, story)


def test_an_announcement_wakes_who_waits(dsn: str, engine: Engine, never_looks: None) -> None:
    async def story(hub: TestedHub) -> None:
        poll = start(hub, engine.queue)
        await until(lambda: hub.client.claims, "the first look")
        message_id = announced(engine.connection, lambda: engine.send("news"))
        assert [one.id for one in await poll] == [message_id]
        assert hub.waiting == 0

    with_hub(dsn, story)


def test_who_waits_is_served_without_any_announcement(dsn: str, engine: Engine) -> None:
    async def story(hub: TestedHub) -> None:
        poll = start(hub, engine.queue)
        await until(lambda: hub.client.claims, "the first look")
        message_id = engine.send("news")
        assert [one.id for one in await poll] == [message_id]

    with_hub(dsn, story)


def test_a_delay_that_is_over_wakes_who_waits(dsn: str, engine: Engine) -> None:
    async def story(hub: TestedHub) -> None:
        poll = start(hub, engine.queue)
        await until(lambda: hub.client.claims, "the first look")
        message_id = engine.send("later", delay_seconds=0.3)
        assert [one.id for one in await poll] == [message_id]

    with_hub(dsn, story)


def test_a_lease_that_ended_wakes_who_waits(dsn: str, engine: Engine) -> None:
    message_id = engine.send("held")

    async def story(hub: TestedHub) -> None:
        engine.receive(1, visibility_timeout=0.3)
        (again,) = await start(hub, engine.queue)
        assert (again.id, again.receive_count) == (message_id, 2)

    with_hub(dsn, story)


def test_polls_are_served_in_the_order_in_which_they_came(dsn: str, engine: Engine) -> None:
    async def story(hub: TestedHub) -> None:
        polls = []
        for number in range(5):
            polls.append(start(hub, engine.queue, consumer=f"consumer {number}"))
            await until(lambda waiting=number + 1: hub.waiting == waiting, "the poll in its line")
        await until(lambda: hub.client.claims, "the first look")
        ids = announced(engine.connection, lambda: [engine.send(number) for number in range(5)])
        assert [[one.id for one in await poll] for poll in polls] == [[number] for number in ids]

    with_hub(dsn, story)


def test_each_poll_has_its_own_visibility_timeout_consumer_and_number(dsn: str, engine: Engine) -> None:
    async def story(hub: TestedHub) -> None:
        short = start(hub, engine.queue, 1, visibility_timeout=100.0, consumer="ana")
        await until(lambda: hub.waiting == 1, "the first poll")
        long = start(hub, engine.queue, 2, visibility_timeout=1000.0, consumer="bea")
        await until(lambda: hub.waiting == 2, "the second poll")
        await until(lambda: hub.client.claims, "the first look")
        announced(engine.connection, lambda: [engine.send(number) for number in range(3)])
        assert [len(await poll) for poll in (short, long)] == [1, 2]

    with_hub(dsn, story)
    leases = engine.rows(
        "select consumer, round(date_part('epoch', deadline - leased_at)), count(*) from signalbox.lease"
        " where queue_id = %s group by 1, 2 order by 1",
        engine.queue_id,
    )
    assert leases == [("ana", 100, 1), ("bea", 1000, 2)]


def test_many_polls_on_one_queue_cost_what_one_costs(dsn: str, engine: Engine) -> None:
    """Each round is one statement for all waiting requests, and no claim without messages."""

    async def story(hub: TestedHub) -> None:
        polls = [start(hub, engine.queue) for _ in range(500)]
        await until(lambda: hub.waiting == 500, "all polls in line")

        def rounds() -> int:
            return sum("receivable_queues" in statement for statement in hub.asked)

        await until(lambda: rounds() >= 2, "two rounds")
        assert hub.client.claims <= 3  # when the first came, and when the hub began to listen
        assert sum("max_long_polls" in statement for statement in hub.asked) <= 3  # no tenant has a limit
        asked = len(hub.asked)
        before = rounds()
        await until(lambda: rounds() > before, "another round")
        assert len(hub.asked) - asked <= rounds() - before + 1  # nothing but rounds
        assert len(asyncio.all_tasks()) < 500 + 50  # one for each poll is the test's own
        hub.stop()
        assert all(answer == [] for answer in await asyncio.gather(*polls))

    with_hub(dsn, story)


def test_many_queues_share_a_statement(dsn: str, make_engine: MakeEngine) -> None:
    engines = [make_engine() for _ in range(20)]

    async def story(hub: TestedHub) -> None:
        polls = [start(hub, engine.queue) for engine in engines]
        await until(lambda: hub.client.claims >= len(engines), "a first look into each")
        message_id = engines[7].send("news")
        assert [one.id for one in await polls[7]] == [message_id]
        # One for each when it came, one more at most when the hub began to listen, and those into that queue.
        assert hub.client.claims <= 2 * len(engines) + 5
        hub.stop()

    with_hub(dsn, story)


def test_a_paused_queue_is_not_looked_into(dsn: str, make_engine: MakeEngine) -> None:
    engine = make_engine(paused=True)
    engine.send("held back")
    rows = engine.rows("select signalbox.receivable_queues(array[%s])", engine.queue)
    assert rows == []
    engine.value("select signalbox.configure_queue(%s, '{\"paused\": false}')", engine.queue)
    assert engine.rows("select signalbox.receivable_queues(array[%s])", engine.queue) == [(engine.queue,)]


def test_dead_letters_can_be_waited_for(dsn: str, engine: Engine) -> None:
    engine.die("once")
    dead_letter_queue = engine.value("select name from signalbox.queue where name = %s", f"{engine.queue}-dlq")

    async def story(hub: TestedHub) -> None:
        (message,) = await hub.receive(dead_letter_queue, wait_seconds=LONG)
        assert message.payload == "once"

    with_hub(dsn, story)


def test_a_queue_that_is_not_there_is_said_at_once(dsn: str, engine: Engine) -> None:
    async def story(hub: TestedHub) -> None:
        with pytest.raises(QueueNotFound):
            await hub.receive("nowhere", wait_seconds=LONG)
        assert hub.waiting == 0

    with_hub(dsn, story)


def test_one_that_is_cancelled_leaves_its_place_to_others(dsn: str, limited: Limit, places_of: CountPlaces) -> None:
    engine = limited(1)

    async def story(hub: TestedHub) -> None:
        poll = start(hub, engine.queue)
        await until(lambda: places_of(engine) == 1, "its place")
        with pytest.raises(QuotaExceeded) as refusal:
            await hub.receive(engine.queue, wait_seconds=LONG)
        assert refusal.value.reason == "long_polls"
        poll.cancel()
        await until(lambda: places_of(engine) == 0, "the place given back")
        again = start(hub, engine.queue)
        await until(lambda: places_of(engine) == 1, "the place of the next")
        engine.send("news")
        assert len(await again) == 1

    with_hub(dsn, story)
    assert places_of(engine) == 0


def test_many_places_are_held_on_one_connection(dsn: str, limited: Limit, places_of: CountPlaces) -> None:
    engine = limited(30)

    async def story(hub: TestedHub) -> None:
        polls = [start(hub, engine.queue) for _ in range(30)]
        await until(lambda: places_of(engine) == 30, "all places")
        holders = engine.value(
            "select count(distinct pid) from pg_locks where locktype = 'advisory' and objsubid = 2 and classid = ("
            " select (signalbox._long_poll_key(tenant_id)::bigint & 4294967295)::oid from signalbox.queue"
            " where queue_id = %s)",
            engine.queue_id,
        )
        assert holders == 1
        with pytest.raises(QuotaExceeded):
            await hub.receive(engine.queue, wait_seconds=LONG)
        for poll in polls[10:20]:
            poll.cancel()
        await until(lambda: places_of(engine) == 20, "ten places given back")
        more = [start(hub, engine.queue) for _ in range(10)]
        await until(lambda: places_of(engine) == 30, "all places again")
        hub.stop()
        await asyncio.gather(*polls[:10], *polls[20:], *more)

    with_hub(dsn, story)
    assert places_of(engine) == 0


def test_places_are_free_again_when_their_connection_is_lost(
    dsn: str, limited: Limit, places_of: CountPlaces, connect: Connect
) -> None:
    engine = limited(1)

    async def story(hub: TestedHub) -> None:
        poll = start(hub, engine.queue)
        await until(lambda: places_of(engine) == 1, "its place")
        connect().execute(END_WHAT_HOLDS_PLACES, [engine.queue_id])
        await until(lambda: places_of(engine) == 0, "the end of the session")
        other = start(hub, engine.queue)
        await until(lambda: places_of(engine) == 1, "a place on a new connection")
        ids = {engine.send("one"), engine.send("two")}
        assert {one.id for task in (poll, other) for one in await task} == ids

    with_hub(dsn, story)


def test_a_place_is_asked_for_again_when_the_connection_only_seemed_to_live(
    dsn: str, limited: Limit, places_of: CountPlaces, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = limited(1)
    monkeypatch.setattr(places, "is_alive", lambda connection: True)  # the socket closes after the places are free

    async def story(hub: TestedHub) -> None:
        start(hub, engine.queue)
        await until(lambda: places_of(engine) == 1, "its place")
        connect().execute(END_WHAT_HOLDS_PLACES, [engine.queue_id])
        await until(lambda: places_of(engine) == 0, "the end of the session")
        other = start(hub, engine.queue)
        await until(lambda: other.done() or places_of(engine) == 1, "a place on a new connection")
        hub.stop()
        assert await other == []

    with_hub(dsn, story)


def test_who_waits_is_seen_as_a_consumer(dsn: str, engine: Engine) -> None:
    def seen() -> list[Any]:
        return engine.rows(
            "select consumer from signalbox.consumer where queue_id = %s and last_seen_at > now() - interval '60 s'"
            " order by 1",
            engine.queue_id,
        )

    async def story(hub: TestedHub) -> None:
        start(hub, engine.queue, consumer="ana")
        await until(lambda: hub.client.claims, "the first look")
        start(hub, engine.queue, consumer="bea")
        await until(lambda: seen() == [("ana",), ("bea",)], "both consumers")
        engine.connection.execute(
            "update signalbox.consumer set last_seen_at = now() - interval '1 hour' where queue_id = %s",
            [engine.queue_id],
        )

        def seen_later() -> list[Any]:
            hub._presence._noted_at.clear()  # as if ten seconds had passed, also for a note that has just been made
            return seen()

        await until(lambda: seen_later() == [("ana",), ("bea",)], "both consumers again")
        hub.stop()

    with_hub(dsn, story)


def test_a_stop_answers_all_waiting_requests(dsn: str, make_engine: MakeEngine) -> None:
    engines = [make_engine() for _ in range(3)]

    async def story(hub: TestedHub) -> None:
        polls = [start(hub, engine.queue) for engine in engines for _ in range(10)]
        await until(lambda: hub.waiting == 30, "all polls in line")
        hub.stop()
        assert await asyncio.gather(*polls) == [[]] * 30
        assert await hub.receive(engines[0].queue, wait_seconds=LONG) == []

    with_hub(dsn, story)


def test_who_is_served_while_the_database_comes_back_has_waited_for_it(
    dsn: str, engine: Engine, connect: Connect
) -> None:
    async def story(hub: TestedHub) -> None:
        poll = start(hub, engine.queue)
        await looked_after(hub, poll)
        connect().execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = any(%s)",
            [[POOL_NAME, "signalbox listener"]],
        )
        message_id = engine.send("after the cut")
        assert [one.id for one in await poll] == [message_id]

    with_hub(dsn, story)


def test_a_cut_while_the_tenant_is_looked_up_is_no_harm(
    dsn: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = f'"turns of {engine.queue}"'
    engine.connection.execute(f"create sequence {turns}")  # its numbers outlive what asked for them
    cut = f"case nextval('{turns}') when 1 then pg_terminate_backend(pg_backend_pid()) and pg_sleep(60) is null end"
    statement = places.LONG_POLL_LIMIT.replace("t.max_long_polls > 0", f"coalesce({cut}, false)")
    monkeypatch.setattr(places, "LONG_POLL_LIMIT", statement)

    async def story(hub: TestedHub) -> None:
        poll = start(hub, engine.queue)
        await looked_after(hub, poll)
        message_id = engine.send("after the cut")
        assert [one.id for one in await poll] == [message_id]

    with_hub(dsn, story)
    assert engine.value(f"select last_value from {turns}") == 2
    engine.connection.execute(f"drop sequence {turns}")
