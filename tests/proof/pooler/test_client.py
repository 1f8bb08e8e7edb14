"""The client behind PgBouncer in transaction mode: every verb, threads and tasks at once, and nothing left behind."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from kombu import Connection

import signalbox.celery  # noqa: F401 - a checkout has no entry points
from signalbox import AsyncClient, Client, InvalidArgument
from signalbox.connections.listening import shared_listener
from tests.proof.pooler.pgbouncer import Pooler

pytestmark = pytest.mark.timeout(900)
CLIENTS = 6
EACH = 30


def test_many_clients_share_few_sessions_and_leave_nothing_in_them(pooler: Pooler, queue: str) -> None:
    def work(_: int) -> list[str]:
        with Client(pooler.url) as client:
            done = []
            for number in range(EACH):
                client.send(queue, number, group_id=f"g{number % 3}")
                for message in client.receive(queue, 5, consumer="a thread", durable=number % 2 == 0):
                    assert client.change_visibility(message, 600) is not None
                    assert client.ack(message)
                    done.append(message.receipt_handle)
            return done

    with ThreadPoolExecutor(CLIENTS) as threads:
        done = [handle for handles in threads.map(work, range(CLIENTS)) for handle in handles]

    with Client(pooler.url) as client:
        rest = client.receive(queue, 100)
        assert len(done) + len(rest) == CLIENTS * EACH
        assert len(set(done)) == len(done)
    assert pooler.left_behind() == {}


def test_the_asynchronous_client_does_too(pooler: Pooler, queue: str) -> None:
    async def work() -> int:
        async with AsyncClient(pooler.url) as client:
            acked = 0
            for number in range(EACH):
                await client.send(queue, number)
                messages = await client.receive(queue, 5)
                acked += sum((await client.ack_batch(messages)).values())
            return acked

    async def all_of_them() -> int:
        return sum(await asyncio.gather(*(work() for _ in range(CLIENTS))))

    assert asyncio.run(all_of_them()) == CLIENTS * EACH
    assert pooler.left_behind() == {}


def test_a_wait_polls_where_listening_is_impossible(pooler: Pooler, queue: str) -> None:
    """The wait also takes no slot, which would be a lock of a shared session."""
    with Client(pooler.url) as manager:
        waiting = threading.Event()
        found: list[object] = []

        def wait() -> None:
            with Client(pooler.url) as client:
                client.receive(queue)
                waiting.set()
                found.extend(message.payload for message in client.receive(queue, wait_seconds=120))

        with pooler.limit_of_long_polls(1):
            thread = threading.Thread(target=wait)
            thread.start()
            waiting.wait(120)
            manager.send(queue, "news")
            thread.join(180)

    assert found == ["news"]
    assert not shared_listener(pooler.url).connected.is_set()
    assert pooler.left_behind() == {}


def test_a_direct_connection_past_the_pooler_listens(
    pooler: Pooler, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_DIRECT_URL", pooler.server.url)
    another = pooler.url + "?application_name=another"  # of which no listener is known yet

    with shared_listener(another).waiter(queue) as waiter:
        assert shared_listener(another).connected.wait(120)
        with pooler.server.connect() as connection:
            connection.execute("select pg_notify('signalbox_ready', %s)", [queue])
        assert waiter.wait(120)
    assert pooler.left_behind() == {}


def test_a_transaction_of_the_callers_has_one_session(pooler: Pooler, queue: str) -> None:
    with pooler.connect() as connection, Client(pooler.url) as other:
        with connection.transaction():
            assert Client(connection).send(queue, "mine")
            assert other.receive(queue) == []
        (message,) = other.receive(queue)

        with connection.transaction():
            assert Client(connection).ack(message)
    assert pooler.left_behind() == {}


def test_the_transport_of_celery_works_through_it(pooler: Pooler, queue: str) -> None:
    with Connection(pooler.url.replace("postgresql://", "signalbox://"), transport_options={}) as connection:
        simple = connection.SimpleQueue(f"{queue}-celery")
        for number in range(EACH):
            simple.put({"n": number})
        assert [_taken(simple) for _ in range(EACH)] == [{"n": number} for number in range(EACH)]
        assert connection.transport.listener is None
        simple.close()
    assert pooler.left_behind() == {}


def _taken(simple: object) -> object:
    message = simple.get(timeout=120)  # type: ignore[attr-defined]
    message.ack()
    return message.payload


def test_a_word_that_is_no_mode_is_refused(pooler: Pooler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_POOLER", "statement")

    with pytest.raises(InvalidArgument, match="DATABASE_POOLER must be none or transaction") as refused:
        Client(pooler.url)
    assert refused.value.field == "pooler"
