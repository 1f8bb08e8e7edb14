"""The alert rules, declared once: `dashboards/alerts/*.rules.yaml`, which Prometheus loads and this module reads.

A rule of Signalbox's own evaluator has the name, severity, summary, durations and runbook of the rule in those files,
so that a page shows what both found as one alert. `metrics.alerts.conditions` says what one reading has to hold.
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
    """One alert: how long its condition holds before it fires, and how long it may be gone before it is over."""

    name: str
    severity: str
    summary: str
    runbook_url: str
    expression: str = ""
    for_seconds: float = 0.0
    keep_seconds: float = 0.0

    @property
    def bound(self) -> float:
        """The number in the expression with which a value of the reading is compared."""
        (number,) = _BOUND.findall(self.expression)
        return float(number)


WATCHDOG_MISSING = Rule(
    "SignalboxWatchdogMissing",
    "critical",
    "Prometheus is silent: its alerts do not arrive",
    "docs/runbooks/SignalboxWatchdog.md",
)
"""The one rule that Prometheus cannot have."""


@cache
def all_rules() -> dict[str, Rule]:
    """Every rule by its name."""
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
