"""The alert rules, declared once: `dashboards/alerts/*.rules.yaml`, which Prometheus loads and this module reads.

Signalbox's own evaluator takes name, severity, summary, durations and runbook from the same rules, so that pages show
an alert once when both report it. `metrics.alerts.conditions` has the conditions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[2] / "dashboards" / "alerts"

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_BOUND = re.compile(r"(?<![\w.\[])\d+(?:\.\d+)?(?![\w.\]])")


@dataclass(frozen=True)
class Rule:
    """An alert rule: how long its condition must hold before it fires, and be false before it is resolved."""

    name: str
    severity: str
    summary: str
    runbook_url: str
    expression: str = ""
    for_seconds: float = 0.0
    keep_seconds: float = 0.0

    @property
    def bound(self) -> float:
        """The threshold in the expression, which is its only number."""
        (number,) = _BOUND.findall(self.expression)
        return float(number)


WATCHDOG_MISSING = Rule(
    "SignalboxWatchdogMissing",
    "critical",
    "Prometheus is silent: its alerts do not arrive",
    "docs/runbooks/SignalboxWatchdog.md",
)
"""The rule that Prometheus cannot evaluate, since it fires when Prometheus is silent."""


@cache
def all_rules() -> dict[str, Rule]:
    """Read every rule, by name."""
    files = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.rules.yaml")))
    rules = [_rule(given) for file in files for group in file["groups"] for given in group["rules"]]
    return {rule.name: rule for rule in (*rules, WATCHDOG_MISSING)}


def _rule(given: dict[str, Any]) -> Rule:
    return Rule(
        name=given["alert"],
        severity=given["labels"]["severity"],
        summary=given["annotations"]["summary"],
        runbook_url=given["annotations"]["runbook_url"],
        expression=given["expr"],
        for_seconds=_seconds(given.get("for", "0s")),
        keep_seconds=_seconds(given.get("keep_firing_for", "0s")),
    )


def _seconds(duration: str) -> float:
    return float(duration[:-1]) * _SECONDS[duration[-1]]
