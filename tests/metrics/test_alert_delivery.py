"""Path of an alert from a poison message to the console's page, through a real Prometheus and Alertmanager."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from dlq.redrives import plans, redrives
from dlq.search.checked_filter import check_filter
from metrics.alerts import alert_list
from metrics.alerts.models import Alert
from tests.console.browsers import Browser, Page
from tests.console.conftest import sign_in, viewer
from tests.console.servers import console_server
from tests.engine import Engine
from tests.ports import free_port

__all__ = ["sign_in", "viewer"]

RULES = Path(__file__).parents[2] / "dashboards" / "alerts" / "*.rules.yaml"
TOKEN = "what Alertmanager bears"
PATIENCE_SECONDS = 240.0


@pytest.fixture
def console(dsn: str, commits: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Address of a console that serves the test database and accepts alerts with a token."""
    monkeypatch.setenv("ALERTMANAGER_TOKEN", TOKEN)
    with console_server(dsn) as server:
        yield server.url.removeprefix("http://")
    Alert.objects.all().delete()


@pytest.fixture
def monitoring(console: str, tmp_path: Path) -> Iterator[None]:
    """A Prometheus that scrapes the console every few seconds, and an Alertmanager that delivers to it."""
    prometheus = free_port()
    alertmanager = free_port(other_than=prometheus)
    hook = {
        "url": f"http://{console}/alerts/webhook",
        "send_resolved": True,
        "http_config": {"authorization": {"credentials": TOKEN}},
    }
    write(
        tmp_path / "alertmanager.yml",
        route={
            "receiver": "signalbox",
            "group_by": ["alertname", "tenant", "queue"],
            "group_wait": "1s",
            "group_interval": "1s",
            "repeat_interval": "10s",
        },
        receivers=[{"name": "signalbox", "webhook_configs": [hook]}],
    )
    target = {"targets": [console]}
    pages = [{"labels": {"__metrics_path__": f"/metrics/{page}", "page": page}} for page in ("queues", "settings")]
    write(
        tmp_path / "prometheus.yml",
        **{"global": {"scrape_interval": "5s", "evaluation_interval": "1s"}},
        rule_files=[str(RULES)],
        scrape_configs=[{"job_name": "signalbox", "static_configs": [target, *(target | page for page in pages)]}],
        alerting={"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{alertmanager}"]}]}]},
    )
    with ExitStack() as stack:
        for command, port in (
            (
                ["prometheus-alertmanager", "--cluster.listen-address=", *storage(tmp_path, "alertmanager")],
                alertmanager,
            ),
            (["prometheus", "--rules.alert.resend-delay=1s", *storage(tmp_path, "prometheus")], prometheus),
        ):
            stack.enter_context(running([*command, f"--web.listen-address=127.0.0.1:{port}"], port, tmp_path))
        yield


def storage(folder: Path, name: str) -> list[str]:
    path = "--storage.tsdb.path" if name == "prometheus" else "--storage.path"
    return [f"--config.file={folder / name}.yml", f"{path}={folder / name}"]


def write(path: Path, **settings: Any) -> None:
    path.write_text(yaml.safe_dump(settings))


@contextmanager
def running(command: list[str], port: int, folder: Path) -> Iterator[None]:
    with (folder / f"{command[0]}.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | {"HOME": str(folder)})
        try:
            wait_until(lambda: is_ready(port), f"{command[0]} is ready")
            yield
        finally:
            process.terminate()
            process.wait()


def is_ready(port: int) -> bool:
    try:
        return requests.get(f"http://127.0.0.1:{port}/-/ready", timeout=30).ok
    except requests.RequestException:
        return False


def wait_until(condition: Callable[[], bool], what: str) -> None:
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < give_up_at, what
        time.sleep(0.1)


def wait_for(see: Callable[[], Page], text: str) -> Page:
    """The page as soon as it says this."""
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while text not in (page := see()).text:
        assert time.monotonic() < give_up_at, f"{text!r} in {page.text}"
        time.sleep(0.1)
    return page


@pytest.mark.proof
@pytest.mark.timeout(1200)
def test_a_poison_message_raises_an_alert_and_can_be_repaired(
    make_engine: Callable[..., Engine], monitoring: None, viewer: Browser
) -> None:
    engine = make_engine(max_receives=2, backoff_base_seconds=0)
    holder = f"{engine.queue}-dlq"
    engine.send({"image": ""})
    for _ in range(2):
        (_, handle, *_) = engine.receive_one()
        engine.nack(handle, error_class="CorruptImage", error="image of 0 bytes", delay_seconds=0)

    def page() -> Page:
        return viewer.see("/alerts", q=f"queue:{holder} alert:SignalboxDeadLetters")

    shown = wait_for(page, "Firing 1")
    assert f"Dead-letter queue {holder} of tenant default has 1 dead letters" in shown.text
    assert "Prometheus" in shown.text
    assert shown.link(holder) == f"/queues/{holder}"
    assert "CorruptImage" in viewer.see(shown.link("View errors")).text
    wait_for(lambda: viewer.see(f"/queues/{engine.queue}"), "SignalboxDeadLetters firing since")
    assert "Mitigation" in viewer.see(shown.link("Runbook of SignalboxDeadLetters")).text
    wait_until(lambda: alert_list.read_watchdog().seen_at is not None, "the watchdog")

    job = redrives.run(
        plans.make(check_filter(f"queue:{engine.queue}"), actor="ann", reason="image is back").pk, actor="ann"
    )
    redrives.run_in_foreground(job.pk)
    engine.ack(*(row[1] for row in engine.receive()))

    over = wait_for(page, "No firing alert matches this filter")
    assert over.rows()[0].startswith(f"resolved Dead-letter queue {holder}")
    assert "SignalboxDeadLetters" in over.rows()[0]
    ended = Alert.objects.filter(name="SignalboxDeadLetters", queue_name=holder)
    assert not ended.exclude(resolved_at__isnull=False).exists()
