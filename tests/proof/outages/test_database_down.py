"""Stop and start of the server: answers during the outage, and automatic recovery."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from signalbox import AsyncClient, Client, DatabaseUnavailable, ServerUnavailable
from signalbox.http import HttpClient
from tests.console.servers import Server, console_server
from tests.proof.outages.own_server import OwnServer
from tests.proof.outages.visitors import Visitor
from tests.races.sessions import until
from tests.signalbox.worker.workers import Notes, WorkerProcess, eventually

pytestmark = pytest.mark.timeout(900)


def test_sends_refuse_and_say_why_and_go_on_by_themselves(server: OwnServer, client: Client, queue: str) -> None:
    accepted = [client.send(queue, "before")]
    server.stop()

    with pytest.raises(DatabaseUnavailable, match="the database cannot be reached, and nothing was done") as lost:
        client.send(queue, "meanwhile")
    assert (lost.value.cause, lost.value.nothing_done) == ("no-connection", True)
    with pytest.raises(DatabaseUnavailable) as lost:
        asyncio.run(send_async(server.url, queue))
    assert lost.value.cause == "no-connection"
    server.start()

    accepted.append(client.send(queue, "after"))
    assert [message.id for message in client.receive(queue, 10)] == accepted


async def send_async(url: str, queue: str) -> int:
    client = AsyncClient(url)
    try:
        return await client.send(queue, "meanwhile")
    finally:
        await client.close()


def test_a_call_that_is_cut_off_is_not_known_to_be_undone(server: OwnServer, queue: str) -> None:
    with server.connect() as connection, server.connect() as killer:
        connection.execute("begin")
        client = Client(connection)
        client.send(queue, "cut off")
        killer.execute("select pg_terminate_backend(%s, 60000)", [connection.info.backend_pid])
        with pytest.raises(DatabaseUnavailable, match="may or may not have been carried out") as lost:
            client.send(queue, "cut off too")

    assert (lost.value.cause, lost.value.nothing_done) == ("connection-lost", False)


def test_no_free_connection_is_distinguished_from_no_server(server: OwnServer, queue: str) -> None:
    server.value("select 1 from pg_roles where rolname = 'crowded'") or make_crowded(server)
    url = server.url.replace("//signalbox@", "//crowded@")

    with pytest.raises(DatabaseUnavailable) as refused, Client(url) as client:
        client.send(queue, "x")

    assert (refused.value.cause, refused.value.nothing_done) == ("too-many-connections", True)


def make_crowded(server: OwnServer) -> None:
    with server.connect() as connection:
        connection.execute("create role crowded login connection limit 0")


def test_the_api_answers_503_with_the_cause_and_then_accepts(
    server: OwnServer, one_console: Server, key: str, queue: str
) -> None:
    with HttpClient(one_console.url, key, retry_seconds=0) as client:
        accepted = [client.send(queue, "before")]
        server.stop()

        answer = Visitor(one_console.url).post(
            f"/v1/queues/{queue}/messages", json={"body": 1}, headers={"Authorization": f"Bearer {key}"}
        )
        assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
        assert answer.headers["retry-after"] == "2"
        problem = answer.json()
        assert problem["type"] == "/problems/database-away"
        assert problem["cause"] in {"no-connection", "connection-lost"}
        with pytest.raises(ServerUnavailable) as refused:
            client.send(queue, "meanwhile", deduplication_id="once")
        assert refused.value.cause in {"no-connection", "connection-lost"}
        assert refused.value.retry_after == 2
        server.start()

        def sent() -> int:
            try:
                return client.send(queue, "after", deduplication_id="once more")
            except ServerUnavailable:
                return 0

        accepted.append(until(sent, "a send that is accepted"))
        assert [message.id for message in client.receive(queue, 10)] == accepted


def test_pages_say_what_is_wrong_and_what_to_do(server: OwnServer, one_console: Server, visitor: Visitor) -> None:
    server.stop()

    page = visitor.read("/dead-letters")
    assert (page.status_code, page.headers["retry-after"]) == (503, "2")
    assert "The database cannot be reached" in page.text
    assert "See whether PostgreSQL runs" in page.text
    assert server.url not in page.text
    fragment = visitor.read("/", HX_Request="true")
    assert (fragment.status_code, "<html" in fragment.text) == (503, False)
    assert 'data-outage="no-connection"' in fragment.text
    assert visitor.get("/live").status_code == 503

    stranger = Visitor(one_console.url)
    assert "Log in" in stranger.read("/login").text
    refused = stranger.post_form("/login", username="ada", password="whatever")
    assert (refused.status_code, "Nothing was changed" in refused.text) == (503, True)

    server.start()
    assert until(lambda: visitor.read("/").status_code == 200, "the overview")


def test_health_and_metrics_answer_and_say_why(server: OwnServer) -> None:
    """Start a console while the database is away."""
    server.stop()
    with console_server(server.url) as console, Visitor(console.url) as monitor:
        health = monitor.get("/healthz")
        assert health.status_code == 503
        assert "the database cannot be reached" in health.json()["checks"]["database"]["problem"]
        for path in ("/metrics", "/metrics/queues"):
            page = monitor.get(path)
            assert (page.status_code, "signalbox_exporter_up 0.0" in page.text.splitlines()) == (200, True)
            assert "signalbox_queue_messages" not in page.text
        server.start()

        def up() -> bool:
            return "signalbox_exporter_up 1.0" in monitor.get("/metrics").text

        assert until(up, "an exporter that is up")
        assert monitor.get("/healthz").json()["checks"]["database"]["ok"]


def test_a_worker_waits_and_goes_on(
    server: OwnServer, queue: str, notes: Notes, start_worker: Callable[..., WorkerProcess]
) -> None:
    with Client(server.url) as client:
        worker = start_worker(queue, "record")
        client.send(queue, notes.payload())
        eventually(lambda: notes.said("ran"))
        server.stop()
        eventually(lambda: "the database cannot be reached" in worker.log.read_text())
        server.start()

        second = client.send(queue, notes.payload())
        eventually(lambda: [line for line in notes.said("ran") if line[1] == second])
        assert worker.process.poll() is None
