"""Tests of the report on the comparison of brokers."""

from __future__ import annotations

from bench.celery_brokers.comparison import (
    BROKERS,
    HABITS,
    PGMQ,
    SIGNALBOX,
    SQLA,
    BrokerSample,
    broker_lines,
    broker_measurements,
)

SPEEDS = {SQLA: 100.0, PGMQ: 150.0, SIGNALBOX: 400.0}
RESULTS = {
    (habit, broker): [BrokerSample(SPEEDS[broker] + extra, 500, 200, 50) for extra in (-1.0, 0.0, 1.0)]
    for habit in HABITS
    for broker in BROKERS
}


def test_every_broker_is_compared_with_sqla() -> None:
    lines = [line.split() for line in broker_lines(RESULTS)]

    assert [line[-4] for line in lines if "signalbox" in line] == ["4.00"] * len(HABITS)
    assert [line[-5] for line in lines if "signalbox" in line] == ["400"] * len(HABITS)


def test_every_sample_is_reported() -> None:
    measurements = list(broker_measurements(RESULTS))

    assert len(measurements) == 3 * len(HABITS) * len(BROKERS)
    assert {one["broker"] for one in measurements} == {broker.name for broker in BROKERS}


def test_each_broker_is_named_as_an_application_would() -> None:
    address = "postgresql://ann@/bench?host=/run/postgresql"

    assert SIGNALBOX.url(address) == "signalbox://ann@/bench?host=/run/postgresql"
    assert SQLA.url(address) == "sqla+postgresql+psycopg://ann@/bench?host=/run/postgresql"
    assert "host=/run/postgresql" in PGMQ.options(address)["conn_string"]
