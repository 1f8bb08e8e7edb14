"""The alert rules, from the YAML files in `dashboards/alerts/`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from docs.build.markdown import table
from docs.build.pages import ROOT
from metrics.alerts.conditions import INSTALLATION_CONDITIONS, QUEUE_CONDITIONS

RULES = ROOT / "dashboards" / "alerts"


def table_of_rules() -> str:
    """Return the table of all alerts, the most severe first."""
    order = {"critical": 0, "warning": 1, "info": 2}
    rules = sorted(_rules(), key=lambda rule: (order.get(rule["labels"]["severity"], 9), rule["alert"]))
    return table(("alert", "severity", "fires when", "after", "evaluated by"), map(_row, rules))


def _rules() -> Iterator[dict[str, Any]]:
    for path in sorted(RULES.glob("*.rules.yaml")):
        for group in yaml.safe_load(path.read_text())["groups"]:
            yield from (rule for rule in group["rules"] if "alert" in rule)


def _row(rule: dict[str, Any]) -> tuple[str, ...]:
    name, page = rule["alert"], rule["annotations"]["runbook_url"].rpartition("/")[2]
    both = "Prometheus, Signalbox" if name in QUEUE_CONDITIONS | INSTALLATION_CONDITIONS else "Prometheus"
    return (
        f"[{name}](../runbooks/{page})",
        rule["labels"]["severity"],
        rule["annotations"]["summary"],
        rule.get("for", "at once"),
        both,
    )
