"""Alert rules, checked by Prometheus' own tool, with their runbooks and links."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.metrics.series import SERIES

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "dashboards" / "alerts"
RULES_FILES = sorted(ALERTS.glob("*.rules.yaml"))
TEST_FILES = sorted(ALERTS.glob("*.test.yaml"))

RULES_OF: dict[str, dict[str, dict[str, Any]]] = {
    path.name: {rule["alert"]: rule for group in yaml.safe_load(path.read_text())["groups"] for rule in group["rules"]}
    for path in RULES_FILES
}
RULES = {alert: rule for rules in RULES_OF.values() for alert, rule in rules.items()}
TESTS: list[dict[str, Any]] = [test for path in TEST_FILES for test in yaml.safe_load(path.read_text())["tests"]]

WATCHDOG = "SignalboxWatchdog"
"""Fires always: it is never silent, never bad, and has nothing to say."""

HEADINGS = [
    "Meaning",
    "Diagnosis",
    "Mitigation",
    "False positives",
    "Prevention",
]

every_alert = pytest.mark.parametrize("alert", RULES)


def promtool(*arguments: str | Path) -> str:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, cwd=ALERTS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("path", RULES_FILES, ids=lambda path: path.name)
def test_prometheus_accepts_the_rules(path: Path) -> None:
    found = promtool("check", "rules", "--lint=all", "--lint-fatal", path)

    assert f"{len(RULES_OF[path.name])} rules found" in found


def test_no_alert_is_written_twice() -> None:
    assert sum(len(rules) for rules in RULES_OF.values()) == len(RULES)


@pytest.mark.parametrize("path", TEST_FILES, ids=lambda path: path.name)
def test_alerts_fire_and_stay_silent_as_they_should(path: Path) -> None:
    assert "SUCCESS" in promtool("test", "rules", path)


@every_alert
def test_every_alert_is_tested_firing_and_silent(alert: str) -> None:
    cases = [case for test in TESTS for case in test["alert_rule_test"] if case["alertname"] == alert]

    assert any(case["exp_alerts"] for case in cases)
    assert any(not case["exp_alerts"] for case in cases) or alert == WATCHDOG


@every_alert
def test_an_alert_says_how_bad_it_is_and_what_it_means(alert: str) -> None:
    rule = RULES[alert]

    assert re.fullmatch(r"Signalbox([A-Z][a-z]+)+", alert)
    assert rule["labels"]["severity"] in (("none",) if alert == WATCHDOG else ("info", "warning", "critical"))
    assert "{{" not in rule["annotations"]["summary"]  # so that notifications of one alert read alike
    assert "{{" in rule["annotations"]["description"] or alert == WATCHDOG


@every_alert
def test_an_alert_leads_to_a_runbook_that_says_what_to_do(alert: str) -> None:
    page = ROOT / RULES[alert]["annotations"]["runbook_url"]
    text = page.read_text()

    assert page == ROOT / "docs" / "runbooks" / f"{alert}.md"
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    assert headings == [alert, *HEADINGS]
    here = text.partition("## Diagnosis")[2].partition("## ")[0]
    assert re.search(r"`/[^`]*`", here), "look at which page?"


def test_every_runbook_belongs_to_an_alert() -> None:
    assert {path.stem for path in (ROOT / "docs" / "runbooks").glob("*.md")} == set(RULES)


@every_alert
def test_an_alert_leads_into_the_console(alert: str) -> None:
    """The console's address is an external label of Prometheus; without it the link is a path."""
    address = RULES[alert]["annotations"]["console_url"]

    assert re.fullmatch(
        r"\{\{ \$externalLabels\.console_url \}\}/(\w|[-/]|\{\{ \$labels\.(queue|stream|group) \}\})*", address
    )
    assert ("$labels.queue" in address) == ("queue" in RULES[alert]["expr"] and "$labels.queue" in str(RULES[alert]))


@every_alert
def test_alerts_read_only_declared_metrics_and_labels(alert: str) -> None:
    for name, matchers in re.findall(r"(signalbox_\w+)(?:\{([^}]*)\})?", RULES[alert]["expr"]):
        assert set(re.findall(r"(\w+)=", matchers)) <= {*SERIES[name], "job"}
