"""A scrape stays small: detail only where it is asked for, and settings on a page of their own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from pytest_django.fixtures import Settings

from metrics.exposition.pages import OPENMETRICS_TYPE, render_queues
from metrics.names import SETTING_METRICS
from metrics.names.queues import QUEUE_METRICS
from metrics.reading.api_requests import API_REQUESTS
from metrics.reading.fleet import Fleet, read_fleet
from queues.counters.durations import BOUNDS
from tests.engine import Engine
from tests.metrics.exposition import Exposition

pytestmark = pytest.mark.usefixtures("commits")

QUEUES = 1_000
DEFAULT_DETAILED = 50
TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def fleet(make_engine: Callable[..., Engine]) -> Fleet:
    """A thousand copies of a queue that has had traffic of each kind, and a dead letter."""
    engine = make_engine()
    for _ in range(3):
        engine.send()
    engine.ack(*(handle for _, handle, *_ in engine.receive(2)))
    engine.die()
    engine.value("select signalbox.aggregate_counters()")
    read = read_fleet()
    (numbers,) = [each for each in read.queues if each.name == engine.queue]
    copies = [replace(numbers, queue_id=numbers.queue_id + n, name=f"exported-{n}") for n in range(QUEUES)]
    return replace(
        read,
        queues=copies,
        durations=dict.fromkeys((copy.queue_id for copy in copies), read.durations[numbers.queue_id]),
        leases=dict.fromkeys((copy.queue_id for copy in copies), read.leases[numbers.queue_id]),
    )


def test_a_thousand_queues_are_two_megabytes(fleet: Fleet, settings: Settings) -> None:
    settings.METRICS_DETAILED_QUEUES = DEFAULT_DETAILED

    page = render_queues(fleet)[0]

    exposition = Exposition.parse(page)
    assert len(exposition.series("queue_messages", state="ready")) == QUEUES
    assert len(page) <= 2_000_000


def test_the_oldest_queues_and_those_asked_for_have_every_bucket(
    fleet: Fleet, settings: Settings, engine: Engine, client: Client
) -> None:
    settings.METRICS_DETAILED_QUEUES = 1
    exposition = Exposition.parse(render_queues(fleet, only=fleet.queues[:2])[0])

    def bounds(queue: str) -> int:
        return len(exposition.series("wait_seconds_bucket", queue=queue))

    assert (bounds("exported-0"), bounds("exported-1")) == (len(BOUNDS) + 1, 1)
    for queue in ("exported-0", "exported-1"):
        assert exposition.value("wait_seconds_count", queue=queue) == exposition.value(
            "wait_seconds_bucket", queue=queue, le="+Inf"
        )
    assert exposition.series("messages_purged_total", queue="exported-1") == {}
    states = exposition.series("queue_messages", queue="exported-1")
    assert {dict(labels)["state"] for labels in states} == {"ready", "leased"}
    assert exposition.value("messages_purged_total", queue="exported-0") == 0

    named = Exposition.parse(client.get(f"/metrics/queues?queue={engine.queue}").content)
    assert len(named.series("wait_seconds_bucket", queue=engine.queue)) == len(BOUNDS) + 1


def test_settings_have_a_page_of_their_own(engine: Engine, client: Client) -> None:
    numbers, settings = (Exposition.parse(client.get(f"/metrics/{page}").content) for page in ("queues", "settings"))

    assert settings.value("queue_retention_seconds", queue=engine.queue) > 0
    assert settings.value("exporter_up") == 1
    declared = {metric.name for metric in SETTING_METRICS}
    assert declared <= set(settings.types)
    assert not declared & set(numbers.types)
    assert not {metric.name for metric in QUEUE_METRICS} & set(settings.types)


@pytest.mark.parametrize("page", ["/metrics", "/metrics/queues", "/metrics/settings"])
def test_openmetrics_has_the_same_numbers(engine: Engine, client: Client, page: str) -> None:
    accepts = {"accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"}
    response = client.get(page, headers=accepts)

    assert response["Content-Type"] == OPENMETRICS_TYPE
    assert "Accept" in response["Vary"]
    families = list(text_string_to_metric_families(response.content.decode()))
    assert families
    assert all(family.documentation for family in families)
    plain = client.get(page).content
    promtool = subprocess.run(["promtool", "check", "metrics"], input=plain, capture_output=True, check=False)
    assert (promtool.returncode, promtool.stderr) == (0, b"")
    kept = {(sample.name, frozenset(sample.labels.items())) for family in families for sample in family.samples}
    assert kept == set(Exposition.parse(plain).samples)


def test_a_bucket_leads_to_the_trace_of_its_last_request(client: Client) -> None:
    API_REQUESTS.observe("GET /v1/exemplars", "2xx", 0.003, TRACE)
    API_REQUESTS.observe("GET /v1/exemplars", "2xx", 0.3)

    page = client.get("/metrics", headers={"accept": "application/openmetrics-text"}).content.decode()

    found: list[Any] = [
        (sample.labels["le"], sample.exemplar.labels, sample.exemplar.value)
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.exemplar and sample.labels["route"] == "GET /v1/exemplars"
    ]
    assert found == [("0.005", {"trace_id": TRACE}, 0.003)]
    assert TRACE not in client.get("/metrics").content.decode()
