"""What scrapers and probes are answered."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from metrics import CONTENT_TYPE, snapshot
from metrics.snapshot import Snapshot
from tests.engine import Engine
from tests.metrics.exposition import Exposition

pytestmark = pytest.mark.usefixtures("commits")


def test_prometheus_reads_the_numbers_without_logging_in(engine: Engine, client: Client) -> None:
    response = client.get("/metrics")

    assert response.status_code == 200
    assert response["Content-Type"] == CONTENT_TYPE
    assert "no-store" in response["Cache-Control"]
    assert Exposition.parse(response.content).value("exporter_up") == 1


def test_with_a_token_set_others_read_nothing(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = "s3cret"

    for authorization in ("", "Bearer", "Bearer wrong", "Bearer s3cre", "Basic s3cret", "Bearer sécret", "s3cret"):
        response = client.get("/metrics", headers={"authorization": authorization} if authorization else {})
        assert response.status_code == 401
        assert response["WWW-Authenticate"] == "Bearer"
        assert b"signalbox_" not in response.content
    assert client.get("/metrics", headers={"authorization": "Bearer s3cret"}).status_code == 200


def test_scrapers_and_probes_come_without_tls(client: Client, settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True

    assert client.get("/metrics").status_code == 200
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
