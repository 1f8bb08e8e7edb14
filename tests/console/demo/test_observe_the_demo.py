"""`make observe`: Prometheus and Alertmanager accept their files, which only the owner may read."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path

import pytest

from console.demo import monitoring
from console.demo.monitoring import Monitoring


@pytest.fixture
def home(tmp_path: Path) -> Path:
    Monitoring("prometheus", "alertmanager", 8000).parts(tmp_path / "observe", "a secret token")
    return tmp_path / "observe"


def checked(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_prometheus_accepts_its_configuration_and_every_rule(home: Path) -> None:
    output = checked("promtool", "check", "config", home / "prometheus.yml")

    assert output.count("rules found") == len(list(monitoring.RULES.glob("*.rules.yaml")))


def test_alertmanager_accepts_its_configuration(home: Path) -> None:
    assert "SUCCESS" in checked("amtool", "check-config", home / "alertmanager.yml")


def test_the_token_file_is_private(home: Path) -> None:
    assert "a secret token" in (home / "alertmanager.yml").read_text()
    assert stat.S_IMODE((home / "alertmanager.yml").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_both_listen_on_this_machine_alone_where_people_look_for_them(home: Path) -> None:
    parts = Monitoring("prometheus", "alertmanager", 8000).parts(home, "t")
    listening = [argument for part in parts for argument in part.command if "web.listen-address" in argument]

    assert listening == ["--web.listen-address=127.0.0.1:9093", "--web.listen-address=127.0.0.1:9090"]
    (job,) = json.loads((home / "prometheus.yml").read_text())["scrape_configs"]
    assert {target for one in job["static_configs"] for target in one["targets"]} == {"127.0.0.1:8000"}


def test_both_or_none_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert monitoring.find(8000) is None
    for name in ("prometheus", "alertmanager"):
        assert monitoring.find(8000) is None
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)

    found = monitoring.find(8000)
    assert found is not None
    assert found.alertmanager == str(tmp_path / "alertmanager")
