"""What calls to the database take is counted in this process, and exported where prometheus-client is."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from metrics import names
from metrics.collector import render_process
from signalbox import AsyncClient, Client, Sender, durations
from tests.engine import Engine
from tests.metrics.exposition import Exposition


def taken() -> tuple[int, int]:
    """How many sends and looks were counted so far."""
    return sum(durations.PUBLISH.read()[0]), sum(durations.RECEIVE.read()[0])


def test_sends_and_looks_are_counted(engine: Engine, dsn: str) -> None:
    sends, looks = taken()
    with Client(dsn) as client:
        client.send(engine.queue, 1)
        client.send_batch(engine.queue, [2, 3])
        (message,) = client.receive(engine.queue)
        client.ack_and_receive([message], engine.queue)
        with Sender(client) as sender:
            sender.send(engine.queue, 4).result()

    assert taken() == (sends + 3, looks + 2)


def test_so_they_are_of_the_asynchronous_client(engine: Engine, dsn: str) -> None:
    async def trade() -> None:
        async with AsyncClient(dsn) as client:
            await client.send(engine.queue, 1)
            await client.receive(engine.queue)

    sends, looks = taken()
    asyncio.run(trade())

    assert taken() == (sends + 1, looks + 1)


def test_a_duration_falls_into_the_bucket_of_its_bound() -> None:
    measured = durations.Durations("x", "x")
    for seconds in (0.0, *durations.BOUNDS, 100.0):
        measured.observe(seconds)

    counts, seconds = measured.read()

    assert counts == (2, *(1,) * (len(durations.BOUNDS) - 1), 1)
    assert seconds == pytest.approx(sum(durations.BOUNDS) + 100)


def test_without_prometheus_client_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durations, "KEPT", False)
    measured = durations.Durations("x", "x")

    measured.observe(1.0)

    assert measured.read() == ((0,) * (len(durations.BOUNDS) + 1), 0.0)


def test_importing_the_client_does_not_import_prometheus_client() -> None:
    code = "import signalbox, sys; print('prometheus_client' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_registry_of_anybody_exports_what_the_console_exports() -> None:
    durations.PUBLISH.observe(0.003)
    registry = CollectorRegistry()
    registry.register(durations.collector())

    theirs, ours = Exposition.parse(generate_latest(registry)), Exposition.parse(render_process())

    assert theirs.samples == ours.samples
    assert theirs.types == ours.types == {metric.name: "histogram" for metric in names.PROCESS_METRICS}
    assert theirs.helps == ours.helps == {metric.name: metric.help for metric in names.PROCESS_METRICS}
