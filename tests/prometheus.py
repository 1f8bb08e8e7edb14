"""A real Prometheus that scrapes the real console over loopback, for tests of what people see in it."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
import uvicorn
import yaml

from metrics.reading import snapshot
from tests.ports import free_port

ROOT = Path(__file__).parents[1]
RULES = ROOT / "dashboards" / "alerts" / "*.rules.yaml"
READY_WITHIN_SECONDS = 120.0


class Prometheus:
    """Running Prometheus, queried over its HTTP interface."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The result of an instant query; an error of the query fails the test."""
        return self._ask("query", {"query": expression})["result"]  # type: ignore[no-any-return]

    def query_range(self, expression: str, seconds: int) -> list[dict[str, Any]]:
        """The result over the last `seconds`, at sixty points, as a graph asks for it."""
        now = time.time()
        asked = {"query": expression, "start": now - seconds, "end": now, "step": seconds / 60}
        return self._ask("query_range", asked)["result"]  # type: ignore[no-any-return]

    def exemplars(self, expression: str) -> list[dict[str, str]]:
        """The labels of the exemplars of the last hour."""
        now = time.time()
        found = self._ask("query_exemplars", {"query": expression, "start": now - 3600, "end": now + 60})
        return [exemplar["labels"] for series in found for exemplar in series["exemplars"]]

    def is_ready(self) -> bool:
        try:
            return requests.get(f"{self.url}/-/ready", timeout=30).ok
        except requests.RequestException:
            return False

    def _ask(self, what: str, parameters: dict[str, Any]) -> Any:
        answer = requests.get(f"{self.url}/api/v1/{what}", parameters, timeout=60).json()
        assert answer["status"] == "success", (parameters, answer)
        return answer["data"]


@contextmanager
def running_console() -> Iterator[int]:
    """The console's ASGI application is served; gives the port."""
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


def write_settings(folder: Path, consoles: list[int]) -> None:
    """Settings of a Prometheus that scrapes all pages of these replicas every second and has loaded our rules."""
    targets = {"targets": [f"127.0.0.1:{port}" for port in consoles]}
    pages = [{"__metrics_path__": f"/metrics/{page}", "page": page} for page in ("queues", "settings")]
    scrape = {"job_name": "signalbox", "static_configs": [targets, *({**targets, "labels": page} for page in pages)]}
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [scrape],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(settings))


@contextmanager
def running_prometheus(folder: Path) -> Iterator[Prometheus]:
    """One with the settings in `folder`, where it also keeps its data."""
    port = free_port()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--enable-feature=exemplar-storage",
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


def wait_until(condition: Callable[[], bool], what: str = "") -> None:
    give_up_at = time.monotonic() + READY_WITHIN_SECONDS
    while not condition():
        assert time.monotonic() < give_up_at, what
        time.sleep(0.1)
