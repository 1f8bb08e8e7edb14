"""A real Prometheus scrapes the real console over loopback and answers the queries of every panel."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
import uvicorn
import yaml

from dashboards import build
from metrics import snapshot
from tests.engine import Engine
from tests.ports import free_port

ROOT = Path(__file__).parents[2]
RULES = ROOT / "dashboards" / "alerts" / "signalbox.rules.yaml"
READY_WITHIN_SECONDS = 120.0


class Prometheus:
    """One that runs, asked over its HTTP interface."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The result of an instant query; an error of the query fails the test."""
        answer = requests.get(f"{self.url}/api/v1/query", {"query": expression}, timeout=60).json()
        assert answer["status"] == "success", (expression, answer)
        return answer["data"]["result"]  # type: ignore[no-any-return]

    def is_ready(self) -> bool:
        try:
            return requests.get(f"{self.url}/-/ready", timeout=30).ok
        except requests.RequestException:
            return False


@pytest.fixture
def console(commits: None) -> Iterator[int]:
    """The port on which the console's ASGI application is served."""
    server = uvicorn.Server(
        uvicorn.Config("console.asgi:application", port=free_port(), log_level="warning", lifespan="off")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield server.config.port
    finally:
        server.should_exit = True
        thread.join()
        snapshot.snapshot.rest()


@pytest.fixture
def prometheus(console: int, tmp_path: Path) -> Iterator[Prometheus]:
    """A Prometheus of its own that scrapes the console every second and has loaded our rules."""
    target = {"targets": [f"127.0.0.1:{console}"]}
    queues = {"__metrics_path__": "/metrics/queues", "page": "queues"}
    scrape = {"job_name": "signalbox", "static_configs": [target, {**target, "labels": queues}]}
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [scrape],
    }
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(settings))
    with running_prometheus(tmp_path) as prometheus:
        yield prometheus


@contextmanager
def running_prometheus(folder: Path) -> Iterator[Prometheus]:
    port = free_port()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )
        try:
            prometheus = Prometheus(port)
            wait_until(prometheus.is_ready)
            yield prometheus
        finally:
            process.terminate()
            process.wait()


@pytest.mark.timeout(900)
def test_prometheus_scrapes_the_console_and_answers_every_panel(
    make_engine: Callable[..., Engine], prometheus: Prometheus
) -> None:
    engine = make_engine(max_backlog_bytes=1_000_000)  # so that what limits export is there too
    waiting = f'signalbox_queue_messages{{queue="{engine.queue}",state="ready"}}'
    for most in (10_000, 0):  # a tenant that has, or had, such a quota exports what it refused
        engine.connection.execute("update signalbox.tenant set max_long_polls = %s where name = 'default'", [most])
    engine.die()
    for _ in range(4):
        engine.send()
    engine.receive(1, visibility_timeout=3600)
    wait_until(lambda: prometheus.query(f"{waiting} == 3") != [], "three ready messages")
    (ready,) = prometheus.query(waiting)
    assert (ready["metric"]["job"], ready["value"][1]) == ("signalbox", "3")

    engine.send()
    engine.ack(*(row[1] for row in engine.receive(3)))
    wait_until(lambda: prometheus.query(f"{waiting} == 1") != [], "one left")  # rates need two readings that differ

    firing = f'ALERTS{{alertname="SignalboxDeadLetters",queue="{engine.queue}-dlq"}}'
    for expression in (*queries(engine.queue), firing):
        wait_until(lambda expression=expression: prometheus.query(expression) != [], expression)  # type: ignore[misc]


def queries(queue: str) -> list[str]:
    """Every panel's queries as Grafana would send them."""
    values = {
        "$__rate_interval": "1m",
        "$job": "signalbox",
        "$tenant": "default",
        "$queue": queue,
        "$dead_letter_queue": f"{queue}-dlq",
    }
    found = []
    for path in sorted(build.BUILT.glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            found += [query["expr"] for query in panel.get("targets", [])]
    return [re.sub(r"\$\w+", lambda match: values[match[0]], expression) for expression in found]


def wait_until(condition: Callable[[], bool], what: str = "") -> None:
    give_up_at = time.monotonic() + READY_WITHIN_SECONDS
    while not condition():
        assert time.monotonic() < give_up_at, what
        time.sleep(0.1)
