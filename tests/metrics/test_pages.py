"""Answers to scrapers and probes."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from metrics.exposition.pages import CONTENT_TYPE
from metrics.reading import snapshot
from metrics.reading.snapshot import Snapshot
from queues.models import Queue, Tenant
from tests.engine import Engine
from tests.metrics.exposition import Exposition

pytestmark = pytest.mark.usefixtures("commits")


def test_prometheus_reads_the_numbers_without_logging_in(engine: Engine, client: Client) -> None:
    response = client.get("/metrics")

    assert response.status_code == 200
    assert response["Content-Type"] == CONTENT_TYPE
    assert "no-store" in response["Cache-Control"]
    assert Exposition.parse(response.content).value("exporter_up") == 1
    assert "queue" not in {label for _, labels in Exposition.parse(response.content).samples for label, _ in labels}


def test_the_queues_have_a_page_of_their_own(engine: Engine, client: Client) -> None:
    response = client.get("/metrics/queues")

    assert response.status_code == 200
    assert response["Content-Type"] == CONTENT_TYPE
    assert Exposition.parse(response.content).value("queue_messages", queue=engine.queue, state="ready") == 0


def test_queues_are_asked_for_by_exact_names(make_engine: Callable[..., Engine], client: Client) -> None:
    one, two, three = (make_engine() for _ in range(3))
    tenant = Tenant.objects.create(name=f"tenant of {three.queue}")
    Queue.objects.filter(queue_id=three.queue_id).update(tenant=tenant)

    def shown(query: str) -> set[str]:
        samples = Exposition.parse(client.get(f"/metrics/queues?{query}").content).samples
        return {dict(labels)["queue"] for _, labels in samples if "queue" in dict(labels)}

    assert shown(f"queue={one.queue}") == {one.queue}
    assert shown(f"queue={one.queue}&queue={two.queue}") == {one.queue, two.queue}
    assert shown(urlencode({"tenant": tenant.name})) == {three.queue}
    assert shown(urlencode({"tenant": tenant.name, "queue": three.queue})) == {three.queue}


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("queue=no-such-queue", 404, "there is no queue 'no-such-queue'"),
        ("tenant=missing", 404, "there is no tenant 'missing'"),
        ("quue=orders", 400, "'quue' is not a filter. Allowed: tenant, queue."),
    ],
)
def test_unknown_names_are_said(client: Client, query: str, status: int, said: str) -> None:
    response = client.get(f"/metrics/queues?{query}")

    assert response.status_code == status
    assert response["Content-Type"].startswith("text/plain")
    assert said in response.content.decode()


def test_a_queue_of_another_tenant_is_unknown_to_this_one(engine: Engine, client: Client) -> None:
    tenant = Tenant.objects.create(name=f"beside {engine.queue}")
    other = Queue.objects.create(name=f"{engine.queue}-other", tenant=tenant)

    assert client.get(f"/metrics/queues?queue={other.name}").status_code == 200
    query = urlencode({"tenant": "default", "queue": other.name})
    assert client.get(f"/metrics/queues?{query}").status_code == 404


@pytest.mark.parametrize("page", ["/metrics", "/metrics/queues"])
def test_pages_are_compressed_for_clients_that_accept_it(engine: Engine, client: Client, page: str) -> None:
    response = client.get(page, headers={"accept-encoding": "gzip"})

    assert response["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in response["Vary"]
    assert Exposition.parse(gzip.decompress(response.content)).value("exporter_up") == 1
    assert "Content-Encoding" not in client.get(page).headers


def test_with_a_token_set_others_read_nothing(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = "s3cret"

    assert client.get("/metrics/queues").status_code == 401
    for authorization in ("", "Bearer", "Bearer wrong", "Bearer s3cre", "Basic s3cret", "Bearer sécret", "s3cret"):
        response = client.get("/metrics", headers={"authorization": authorization} if authorization else {})
        assert response.status_code == 401
        assert response["WWW-Authenticate"] == "Bearer"
        assert b"signalbox_" not in response.content
    assert client.get("/metrics", headers={"authorization": "Bearer s3cret"}).status_code == 200


LOCAL = ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"]
ELSEWHERE = ["10.0.0.7", "203.0.113.9", "2001:db8::1", "::ffff:10.0.0.7", "", "unix:"]
LOCAL_HOSTS = ["127.0.0.1:8000", "[::1]:8000", "localhost", "db1:8000"]
PUBLIC_HOSTS = ["queues.example.org", "queues.example.org.:443", "203.0.113.9", "[2001:db8::1]:8000"]
FORWARDED = ["X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP", "Forwarded", "Via"]


@pytest.mark.parametrize("page", ["/metrics", "/metrics/queues"])
def test_without_a_token_only_this_machine_reads(client: Client, settings: Settings, page: str) -> None:
    settings.METRICS_TOKEN = ""

    assert {client.get(page, REMOTE_ADDR=address).status_code for address in LOCAL} == {200}
    for address in ELSEWHERE:
        response = client.get(page, REMOTE_ADDR=address)
        assert (response.status_code, b"signalbox_" in response.content) == (403, False)
        assert b"METRICS_TOKEN" in response.content
    for header in FORWARDED:  # a local proxy asks for another client
        assert client.get(page, headers={header: "127.0.0.1"}).status_code == 403
    settings.ALLOWED_HOSTS = ["*"]
    assert {client.get(page, headers={"host": host}).status_code for host in LOCAL_HOSTS} == {200}
    assert {client.get(page, headers={"host": host}).status_code for host in PUBLIC_HOSTS} == {403}  # a tunnel


def test_a_stranger_sees_the_state_and_no_numbers(client: Client, settings: Settings) -> None:
    def read(**asked: Any) -> dict[str, Any]:
        return dict(client.get("/healthz", **asked).json())

    settings.METRICS_TOKEN = ""
    assert "waiting_messages" in str(read())
    stranger = read(REMOTE_ADDR="203.0.113.9")
    assert stranger["ok"] == read()["ok"]
    assert all(set(check) <= {"ok", "problem"} for check in stranger["checks"].values())
    settings.METRICS_TOKEN = "s3cret"
    assert "waiting_messages" not in str(read())
    assert "waiting_messages" in str(read(headers={"authorization": "Bearer s3cret"}))


def test_scrapers_and_probes_come_without_tls(client: Client, settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True

    assert client.get("/metrics").status_code == 200
    assert client.get("/metrics/queues").status_code == 200
    assert client.get("/healthz").status_code in (200, 503)
    assert client.get("/").status_code == 301


def test_health_is_open_even_where_metrics_are_not(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = "s3cret"

    response = client.get("/healthz")

    assert response.json()["checks"]["database"]["ok"] is True
    assert response.status_code == (200 if response.json()["ok"] else 503)
    assert "no-store" in response["Cache-Control"]


def test_without_a_database_health_is_503_and_tells_no_secrets(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> None:
        raise ConnectionError("connection to server at db.internal, port 5432 failed: password for user admin")

    monkeypatch.setattr("metrics.health.snapshot", Snapshot(read))  # type: ignore[arg-type]

    response = client.get("/healthz")

    assert response.status_code == 503
    assert response.json()["ok"] is False
    assert b"db.internal" not in response.content


def test_metrics_and_health_only_read(client: Client) -> None:
    assert client.post("/metrics").status_code == 405
    assert client.post("/healthz").status_code == 405
    assert client.head("/metrics").status_code == 200


def test_without_a_database_metrics_still_answer(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> None:
        raise ConnectionError

    monkeypatch.setattr(snapshot, "snapshot", Snapshot(read))  # type: ignore[arg-type]

    response = client.get("/metrics")

    assert response.status_code == 200
    assert Exposition.parse(response.content).value("exporter_up") == 0
