"""A real Prometheus scrapes the real console over loopback, and its alerts fire.

What dashboards ask of it is in tests/dashboards/test_answers.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metrics.reading.api_requests import API_REQUESTS
from tests.engine import Engine
from tests.prometheus import Prometheus, running_console, running_prometheus, wait_until, write_settings

TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def prometheus(commits: None, tmp_path: Path) -> Iterator[Prometheus]:
    """A Prometheus of its own that scrapes the console every second and has loaded our rules."""
    with running_console() as console:
        write_settings(tmp_path, [console])
        with running_prometheus(tmp_path) as prometheus:
            yield prometheus


@pytest.mark.timeout(900)
def test_prometheus_scrapes_the_console_and_fires_its_alerts(engine: Engine, prometheus: Prometheus) -> None:
    engine.die()
    for _ in range(4):
        engine.send()
    engine.receive(1, visibility_timeout=3600)

    waiting = f'signalbox_queue_messages{{queue="{engine.queue}",state="ready"}}'
    found: list[dict[str, Any]] = []
    wait_until(lambda: found.extend(prometheus.query(f"{waiting} == 3")) or found != [], "three ready messages")
    (ready,) = found
    assert (ready["metric"]["job"], ready["value"][1]) == ("signalbox", "3")

    firing = f'ALERTS{{alertname="SignalboxDeadLetters",queue="{engine.queue}-dlq"}}'
    API_REQUESTS.observe("GET /v1/exemplars", "2xx", 0.003, TRACE)  # the console is a thread
    traced = 'signalbox_api_request_duration_seconds_bucket{route="GET /v1/exemplars"}'
    wait_until(lambda: {"trace_id": TRACE} in prometheus.exemplars(traced), traced)
    wait_until(lambda: prometheus.query(firing) != [], firing)
