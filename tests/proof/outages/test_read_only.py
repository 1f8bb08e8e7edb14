"""Database that is read-only for a while: sessions of that time do not stay read-only."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kombu import Connection, Producer, Queue
from kombu.exceptions import OperationalError
from psycopg_pool import ConnectionPool

import signalbox.celery  # noqa: F401 - a checkout has no entry points
from signalbox import AsyncClient, Client, DatabaseUnavailable
from tests.console.servers import Server
from tests.proof.outages.own_server import OwnServer
from tests.proof.outages.visitors import Visitor
from tests.races.sessions import until
from tests.signalbox.celery.conftest import broker_url
from tests.signalbox.worker.workers import Notes, WorkerProcess, eventually

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def upkeep(server: OwnServer) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(server.manage("upkeep"), env=server.environment(**server.settings()))
    yield process
    process.terminate()
    process.wait(timeout=120)


def test_sends_say_that_it_is_read_only_and_go_on_by_themselves(server: OwnServer, client: Client, queue: str) -> None:
    """Sessions from the outage are not ended by the server: the clients close them."""
    pool = ConnectionPool(server.url, min_size=1, max_size=1, open=True)
    pooled = Client(pool)
    server.set_read_only(True)

    for sender in (client, pooled):
        until(lambda sender=sender: cause_of_a_send(sender, queue) == "read-only", "a refusal that says so")
    assert asyncio.run(async_cause(server.url, queue)) == "read-only"
    server.set_read_only(False)

    accepted = [client.send(queue, 1)]
    accepted.append(until(lambda: sent(pooled, queue), "a send of the pool's"))
    assert [message.id for message in client.receive(queue, 10)] == accepted
    pool.close()


def cause_of_a_send(client: Client, queue: str) -> str:
    """Reason of the refusal; the first request may meet the session that was just ended."""
    with pytest.raises(DatabaseUnavailable) as refused:
        client.send(queue, "x")
    assert refused.value.nothing_done or refused.value.cause == "connection-lost"
    return refused.value.cause


async def async_cause(url: str, queue: str) -> str:
    client = AsyncClient(url)
    try:
        with pytest.raises(DatabaseUnavailable) as refused:
            await client.send(queue, "x")
        return refused.value.cause
    finally:
        await client.close()


def sent(client: Client, queue: str) -> int:
    try:
        return client.send(queue, 2)
    except DatabaseUnavailable:
        return 0


def test_looking_goes_on_and_changing_is_refused_by_a_page(server: OwnServer, visitor: Visitor, queue: str) -> None:
    server.set_read_only(True)

    page = until(lambda: looked(visitor), "the overview with its notice")
    assert "Messages cannot be sent, received or changed" in page
    refused = visitor.post_form(f"/queues/{queue}/pause", reason="why not")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
    assert "The database is read-only" in refused.text
    assert "Nothing was changed" in refused.text
    server.set_read_only(False)

    until(lambda: "read-only" not in visitor.read("/").text, "the notice's end")
    assert visitor.post_form(f"/queues/{queue}/pause", reason="why not").status_code == 302


def looked(visitor: Visitor) -> str:
    answer = visitor.read("/")
    assert answer.status_code == 200
    return answer.text if "The database is read-only." in answer.text else ""


def test_health_says_so(server: OwnServer, one_console: Server) -> None:
    with Visitor(one_console.url) as monitor:

        def writable() -> bool:
            return bool(monitor.get("/healthz").json()["checks"].get("writable", {}).get("ok"))

        until(writable, "a database that takes writes")
        server.set_read_only(True)
        until(lambda: not writable(), "that it takes none")
        assert "signalbox_pg_read_only 1" in until_read(monitor, "signalbox_pg_read_only 1")
        server.set_read_only(False)
        until(writable, "that it takes them again")


def until_read(monitor: Visitor, line: str) -> str:
    def read() -> str:
        text = monitor.get("/metrics").text
        return text if line in text else ""

    return until(read, line)


def test_the_api_says_that_nothing_was_done(server: OwnServer, one_console: Server, key: str, queue: str) -> None:
    server.set_read_only(True)
    with Visitor(one_console.url) as caller:

        def cause() -> tuple[str, bool]:
            answer = caller.post(
                f"/v1/queues/{queue}/messages", json={"body": 1}, headers={"Authorization": f"Bearer {key}"}
            )
            assert answer.status_code == 503
            assert answer.headers["retry-after"]
            return answer.json()["cause"], answer.json()["nothingDone"]

        assert until(lambda: cause() == ("read-only", True), "a refusal that says so")


def test_the_api_keeps_no_session_that_was_read_only(
    server: OwnServer, one_console: Server, key: str, queue: str
) -> None:
    """Requests with a key, as our client sends them, have their own transaction, and met such a session for ever."""
    numbers = itertools.count()
    with Visitor(one_console.url) as caller:

        def sent() -> dict[str, Any]:
            headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": f"{queue}-{next(numbers)}"}
            answer = caller.post(f"/v1/queues/{queue}/messages", json={"body": 1}, headers=headers)
            return {"status": answer.status_code, **answer.json()}

        server.set_read_only(True)
        until(lambda: sent().get("cause") == "read-only", "a refusal that says so")
        server.set_read_only(False)
        until(lambda: sent()["status"] == 202, "a send that is accepted")


def test_celery_tries_again_and_then_says_so(server: OwnServer, queue: str) -> None:
    once = {"max_retries": 1, "interval_start": 0.01, "interval_step": 0, "interval_max": 0.01}
    tasks = Queue(f"{queue}-tasks", routing_key=f"{queue}-tasks")
    with Connection(broker_url(server.url)) as connection:
        producer = Producer(connection, auto_declare=False)

        def publish(body: str) -> None:
            producer.publish([body], routing_key=tasks.name, declare=[tasks], retry=True, retry_policy=once)

        publish("before")
        server.set_read_only(True)
        with pytest.raises(OperationalError, match=r"read-only|lost"):
            publish("meanwhile")
        server.set_read_only(False)
        publish("after")

    with Client(server.url) as client:
        assert len(client.receive(tasks.name, 10)) == 2


def test_a_worker_and_upkeep_go_on_by_themselves(
    server: OwnServer,
    client: Client,
    queue: str,
    notes: Notes,
    start_worker: Callable[..., WorkerProcess],
    upkeep: subprocess.Popen[bytes],
) -> None:
    clock = "select pg_sequence_last_value('signalbox.clock'::regclass)"
    eventually(lambda: server.value(clock))
    worker = start_worker(queue, "record")
    client.send(queue, notes.payload())
    eventually(lambda: notes.said("ran"))
    server.set_read_only(True)
    eventually(lambda: "the database is read-only" in worker.log.read_text())
    server.set_read_only(False)

    last = server.value(clock)
    second = until(lambda: sent_note(client, queue, notes), "a send that is accepted")
    eventually(lambda: [line for line in notes.said("ran") if line[1] == second])
    eventually(lambda: server.value(clock) > last)
    assert (worker.process.poll(), upkeep.poll()) == (None, None)


def sent_note(client: Client, queue: str, notes: Notes) -> int:
    try:
        return client.send(queue, notes.payload())
    except DatabaseUnavailable:
        return 0
