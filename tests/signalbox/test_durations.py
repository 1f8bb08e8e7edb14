"""Durations of database calls are counted in this process, and exported if prometheus-client is installed."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
import requests
from prometheus_client import CollectorRegistry, generate_latest

from metrics import names
from metrics.exposition.pages import render_process
from signalbox import AsyncClient, Client, InvalidArgument, Sender, durations
from signalbox.durations import exported
from signalbox.worker import Worker
from tests.engine import Engine
from tests.metrics.exposition import Exposition
from tests.ports import free_port


def taken() -> tuple[int, int]:
    """Numbers of counted sends and receives so far."""
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


def test_a_worker_exports_its_own_on_a_port() -> None:
    port = free_port()
    durations.RECEIVE.observe(0.003)
    with exported(port):
        page = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=60).content

    assert Exposition.parse(page).value("receive_duration_seconds_count") >= 1
    with pytest.raises(requests.ConnectionError):
        requests.get(f"http://127.0.0.1:{port}/metrics", timeout=60)


@pytest.mark.parametrize("port", [0, 65_536, True])
def test_what_is_no_port_is_refused(port: int) -> None:
    with pytest.raises(InvalidArgument, match="allowed: 1 to 65535") as refused:
        Worker("", "orders", "tasks:handle", metrics_port=port)

    assert refused.value.field == "metrics_port"


def test_a_port_needs_prometheus_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durations, "KEPT", False)

    with pytest.raises(InvalidArgument, match="needs prometheus-client"):
        Worker("", "orders", "tasks:handle", metrics_port=9000)


def test_a_registry_of_anybody_exports_what_the_console_exports() -> None:
    durations.PUBLISH.observe(0.003)
    registry = CollectorRegistry()
    registry.register(durations.collector())

    theirs, ours = Exposition.parse(generate_latest(registry)), Exposition.parse(render_process())
    shared = {metric.name for metric in names.PROCESS_METRICS}

    assert theirs.samples.items() <= ours.samples.items()
    assert theirs.types == {name: ours.types[name] for name in shared} == dict.fromkeys(shared, "histogram")
    assert theirs.helps == {name: ours.helps[name] for name in shared}
    assert theirs.helps == {metric.name: metric.help for metric in names.PROCESS_METRICS}
