"""Long polls as programs make them: sockets, a real server, and clients that go away."""

from __future__ import annotations

import asyncio
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import psycopg
import pytest
from django.db import connections

from console.access.api_keys import keys
from console.access.api_keys.models import ApiKey
from tests.console.api.callers import Caller
from tests.console.api.waiting.conftest import Limit
from tests.console.api.waiting.hubs import until
from tests.console.api.waiting.polls import Poll, connect
from tests.console.servers import console_server
from tests.engine import Engine

MANY = 2000
#: Of what a server holds for all polls together; a thread or a connection for each would be hundreds.
FEW = 40
#: Waiting at the same moment, which a slow machine reaches too: polls that were answered with nothing ask again.
AT_ONCE = 10 * FEW
#: A lease longer than any test: one that ended would have its message delivered twice.
LONG_LEASE = 43_200
NOTHING = (200, {"messages": []})


@pytest.fixture
def many_files() -> Iterator[None]:
    """Sockets for all polls at both ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 3 * MANY)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_poll_waits_for_what_is_sent_later(caller: Caller, limited: Limit, places_of: Callable[..., int]) -> None:
    engine = limited(1)

    async def story() -> None:
        poll = await connect(caller, engine.queue, consumer="ana")
        waiting = asyncio.create_task(poll.messages())
        await until(lambda: places_of(engine) == 1, "the poll in its place")
        sent = caller.post(f"/v1/queues/{engine.queue}/messages", {"body": {"order": 7}})
        (message,) = await waiting
        assert message["messageId"] == sent.document["messageId"]
        assert message["body"] == {"order": 7}
        poll.close()

    asyncio.run(story())
    assert engine.value("select consumer from signalbox.lease where queue_id = %s", engine.queue_id) == "ana"


def test_a_poll_whose_time_is_over_is_answered_with_nothing(caller: Caller, engine: Engine) -> None:
    answer = caller.post(f"/v1/queues/{engine.queue}/messages:receive", {"waitSeconds": 0.05})
    assert (answer.status, answer.document) == NOTHING


def test_a_poll_too_many_is_refused_with_the_limit(
    caller: Caller, limited: Limit, places_of: Callable[..., int]
) -> None:
    engine = limited(1)

    async def story() -> None:
        poll = await connect(caller, engine.queue)
        waiting = asyncio.create_task(poll.messages())
        await until(lambda: places_of(engine) == 1, "the poll in its place")
        refused = await asyncio.to_thread(
            caller.post, f"/v1/queues/{engine.queue}/messages:receive", {"waitSeconds": 20}
        )
        assert (refused.status, refused.kind) == (429, "quota-exceeded")
        assert refused.document["reason"] == "long_polls"
        assert refused.headers["retry-after"] == "1"
        waiting.cancel()
        poll.close()

    asyncio.run(story())


def test_a_client_that_goes_away_frees_its_place_and_takes_no_message(
    caller: Caller, limited: Limit, places_of: Callable[..., int]
) -> None:
    engine = limited(10)

    async def story() -> None:
        polls = [await connect(caller, engine.queue) for _ in range(10)]
        waiting = [asyncio.create_task(poll.messages()) for poll in polls]
        await until(lambda: places_of(engine) == 10, "ten polls in their places")
        for poll, one in zip(polls, waiting, strict=True):
            one.cancel()
            poll.close()
        await until(lambda: places_of(engine) == 0, "all places free again")

    asyncio.run(story())
    message_id = engine.send("for a waiting request")
    (message,) = caller.post(f"/v1/queues/{engine.queue}/messages:receive").document["messages"]
    assert (message["sequence"], message["receiveCount"]) == (message_id, 1)


@pytest.mark.proof
def test_a_key_that_is_revoked_while_it_waits_gets_no_message(
    make_caller: Callable[..., Caller], limited: Limit, places_of: Callable[..., int]
) -> None:
    engine = limited(1)
    caller = make_caller("receive")
    path = f"/v1/queues/{engine.queue}/messages:ack"

    async def story() -> None:
        poll = await connect(caller, engine.queue)
        poll.ask()
        await until(lambda: places_of(engine) == 1, "the poll in its place")
        await asyncio.to_thread(revoke, caller)
        await until(lambda: caller.post(path, {"receiptHandles": []}).status == 401, "the end of the key")
        engine.send("not for it")
        status, document = await poll.answer()
        assert status == 401 or document == {"messages": []}  # its time was over before anything came
        poll.close()

    asyncio.run(story())
    free = "select count(*) from signalbox.ready where queue_id = %s"
    asyncio.run(until(lambda: engine.value(free, engine.queue_id) == 1, "the message back in its queue"))


def test_a_name_that_is_another_tenants_by_then_is_not_found(
    caller: Caller, limited: Limit, places_of: Callable[..., int], make_engine: Callable[..., Engine]
) -> None:
    engine, other = limited(1), make_engine()
    other.send("not for it")

    async def story() -> None:
        poll = await connect(caller, engine.queue)
        poll.ask()
        await until(lambda: places_of(engine) == 1, "the poll in its place")
        with engine.connection.transaction():
            rename = "update signalbox.queue set name = %s where queue_id = %s"
            engine.connection.execute(rename, [f"{engine.queue}-gone", engine.queue_id])
            engine.connection.execute(rename, [engine.queue, other.queue_id])
        status, document = await poll.answer()
        assert status == 404 or document == {"messages": []}
        poll.close()

    asyncio.run(story())
    free = "select count(*) from signalbox.ready where queue_id = %s"
    asyncio.run(until(lambda: other.value(free, other.queue_id) == 1, "the message back in its queue"))


def revoke(caller: Caller) -> None:
    try:
        found = ApiKey.objects.get(identifier=caller.key.removeprefix("sbx_").partition(".")[0])
        keys.revoke(found.pk, actor="test")
    finally:
        connections.close_all()  # of this thread


def test_a_stopping_server_answers_waiting_requests(
    dsn: str, limited: Limit, places_of: Callable[..., int], commits: None
) -> None:
    engine = limited(20)
    key = keys.create(f"ending-{engine.queue}", "receive", actor="test").text
    with console_server(dsn) as server:

        async def story() -> None:
            told = asyncio.Event()

            async def last_answer(poll: Poll) -> tuple[int, Any]:
                poll.ask()
                while (answer := await poll.answer()) == NOTHING and not told.is_set():
                    poll.ask()
                return answer

            polls = [await connect(Caller(server.url, key), engine.queue) for _ in range(20)]
            waiting = [asyncio.create_task(last_answer(poll)) for poll in polls]
            await until(lambda: places_of(engine) == 20, "all polls in their places")
            told.set()
            server.process.terminate()
            assert await asyncio.gather(*waiting) == [NOTHING] * 20

        asyncio.run(story())
        assert server.process.wait(timeout=120) in (0, -signal.SIGTERM)
    assert places_of(engine) == 0


ENDING = """
import asyncio, os, signal
import django
django.setup()
from console.api import waiting
from console.api.core import database

async def tell():
    heard = []
    signal.signal(signal.SIGTERM, lambda *_: heard.append("stopped"))
    waiting.stop_on_signals()
    poll = asyncio.create_task(waiting.shared_hub().receive({queue!r}, 1, None, None, 100_000))
    while not any(map(len, waiting.shared_hub()._lines.values())):
        await asyncio.sleep(0.01)
    os.kill(os.getpid(), signal.SIGTERM)
    print(await poll, heard)
    await waiting.close()
    await database.close()

asyncio.run(tell())
"""


def test_a_signal_ends_a_wait_of_any_length(engine: Engine, dsn: str) -> None:
    from tests.console.servers import environment_of

    run = subprocess.run(
        [sys.executable, "-c", ENDING.format(queue=engine.queue)],
        env=environment_of(dsn) | {"DJANGO_SETTINGS_MODULE": "console.settings"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert run.stdout.splitlines() == ["[] ['stopped']"], run.stderr


@pytest.mark.proof
@pytest.mark.timeout(900)
def test_two_thousand_polls_hold_neither_threads_nor_connections(
    dsn: str, limited: Limit, places_of: Callable[..., int], commits: None, many_files: None, observer: Any
) -> None:
    engine = limited(MANY)
    key = keys.create(f"many-{engine.queue}", "receive", actor="test").text
    with console_server(dsn) as server:

        async def story() -> list[int]:
            before = backends(observer)
            caller = Caller(server.url, key)
            polls = [await connect(caller, engine.queue, visibilityTimeoutSeconds=LONG_LEASE) for _ in range(MANY)]
            waiting = [asyncio.create_task(poll.messages()) for poll in polls]
            await until(lambda: places_of(engine) >= AT_ONCE, "hundreds of polls waiting at once")
            assert psutil.Process(server.process.pid).num_threads() <= FEW
            assert backends(observer) - before <= FEW
            engine.value(
                "select count(*) from signalbox.send_batch(%s, array_fill('1'::jsonb, array[%s]))", engine.queue, MANY
            )
            received = [message["sequence"] for messages in await asyncio.gather(*waiting) for message in messages]
            for poll in polls:
                poll.close()
            return received

        received = asyncio.run(story())
    assert len(received) == len(set(received)) == MANY
    assert engine.counted() == engine.recounted() == (0, 0, MANY, 0, 0)


def backends(observer: psycopg.Connection[Any]) -> int:
    row = observer.execute("select count(*) from pg_stat_activity where backend_type = 'client backend'").fetchone()
    return int(row[0]) if row else 0
