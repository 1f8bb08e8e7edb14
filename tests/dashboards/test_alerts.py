"""The alert rules, judged by Prometheus' own tool, and what somebody finds whom one of them wakes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from metrics.names import METRICS

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "dashboards" / "alerts"
RULES_FILE = ALERTS / "signalbox.rules.yaml"
TEST_FILE = ALERTS / "signalbox.test.yaml"

RULES: dict[str, dict[str, Any]] = {
    rule["alert"]: rule for group in yaml.safe_load(RULES_FILE.read_text())["groups"] for rule in group["rules"]
}
TESTS: list[dict[str, Any]] = yaml.safe_load(TEST_FILE.read_text())["tests"]

WATCHDOG = "SignalboxWatchdog"
"""Fires always: it is never silent, never bad, and has nothing to say."""

every_alert = pytest.mark.parametrize("alert", RULES)


def promtool(*arguments: str | Path) -> str:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, cwd=ALERTS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_prometheus_accepts_the_rules() -> None:
    assert f"{len(RULES)} rules found" in promtool("check", "rules", "--lint=all", "--lint-fatal", RULES_FILE)


def test_alerts_fire_and_stay_silent_as_they_should() -> None:
    assert "SUCCESS" in promtool("test", "rules", TEST_FILE)


@every_alert
def test_every_alert_is_tested_firing_and_silent(alert: str) -> None:
    cases = [case for test in TESTS for case in test["alert_rule_test"] if case["alertname"] == alert]

    assert any(case["exp_alerts"] for case in cases)
    assert any(not case["exp_alerts"] for case in cases) or alert == WATCHDOG


@every_alert
def test_an_alert_says_how_bad_it_is_and_what_it_means(alert: str) -> None:
    rule = RULES[alert]

    assert re.fullmatch(r"Signalbox([A-Z][a-z]+)+", alert)
    assert rule["labels"]["severity"] in (("none",) if alert == WATCHDOG else ("warning", "critical"))
    assert "{{" not in rule["annotations"]["summary"]  # so that notifications of one alert read alike
    assert "{{" in rule["annotations"]["description"] or alert == WATCHDOG


@every_alert
def test_an_alert_leads_to_a_runbook_that_says_what_to_do(alert: str) -> None:
    page = ROOT / RULES[alert]["annotations"]["runbook_url"]
    text = page.read_text()

    assert page == ROOT / "docs" / "runbooks" / f"{alert}.md"
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    assert headings == [alert, "What it means", "What to do now", "Why it happens", "So that it does not happen again"]


def test_every_runbook_belongs_to_an_alert() -> None:
    assert {path.stem for path in (ROOT / "docs" / "runbooks").glob("*.md")} == set(RULES)


@every_alert
def test_alerts_read_only_declared_metrics_and_labels(alert: str) -> None:
    declared = {metric.name: {*metric.labels, "job"} for metric in METRICS}

    for name, matchers in re.findall(r"(signalbox_\w+)(?:\{([^}]*)\})?", RULES[alert]["expr"]):
        assert set(re.findall(r"(\w+)=", matchers)) <= declared[name]
