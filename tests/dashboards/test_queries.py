"""Queries of the dashboards: existing metrics only, correct for replicas, counter resets and a thousand queues."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import yaml

from metrics.names import API_METRICS, METRICS, PROCESS_METRICS
from tests.dashboards.built import DASHBOARDS, Dashboard, alert_marks, asking, every_dashboard, expressions, variables
from tests.dashboards.promql import Selector, named_labels, plain, selectors
from tests.metrics.series import SERIES, series

DECLARED = {name: set(labels) for name, labels in SERIES.items()}
OF_PROCESSES = {name for metric in (*PROCESS_METRICS, *API_METRICS) for name in series(metric)}
FROM_SCRAPING = {"job", "instance"}
OF_ALERTS = {"ALERTS": {"alertname", "alertstate", "severity", "tenant", "queue"}}


def asked(dashboard: Dashboard) -> list[str]:
    """Every expression of a dashboard: of panels, marks and variables."""
    series = [
        found[1]
        for variable in variables(dashboard).values()
        if variable["type"] == "query" and (found := re.fullmatch(r"label_values\((.+), \w+\)", variable["definition"]))
    ]
    return [*expressions(dashboard), *series, *(mark["target"]["expr"] for mark in alert_marks(dashboard))]


@every_dashboard
def test_dashboards_ask_only_for_declared_metrics_and_labels(dashboard: Dashboard) -> None:
    known = DECLARED | OF_ALERTS
    for expression in asked(dashboard):
        chosen = selectors(expression)
        for selector in chosen:
            assert selector.metric in known, expression
            assert selector.labels <= known[selector.metric] | FROM_SCRAPING, expression
        existing = set.union(*(known[selector.metric] for selector in chosen)) if chosen else set()
        assert named_labels(expression) <= existing | FROM_SCRAPING, expression


@every_dashboard
def test_variables_ask_for_labels_that_their_metric_has(dashboard: Dashboard) -> None:
    for variable in variables(dashboard).values():
        if variable["type"] == "query":
            found = re.fullmatch(r"label_values\((\w+)(?:\{.*\})?, (\w+)\)", variable["definition"])
            assert found, variable["definition"]
            assert found[2] in DECLARED[found[1]] | {"job"}


@every_dashboard
def test_everything_is_asked_of_one_installation(dashboard: Dashboard) -> None:
    for expression in asked(dashboard):
        for selector in selectors(expression):
            installations = expression == selector.metric == "signalbox_exporter_up"  # the list to choose from
            assert installations or "job" in selector.labels, expression


@every_dashboard
def test_replicas_are_reduced_to_one_before_anything_else(dashboard: Dashboard) -> None:
    """Every replica of the console exports the same numbers of the same database: their sum would be wrong."""
    for expression in expressions(dashboard):
        for selector in selectors(expression):
            assert selector.aggregations, expression
            assert selector.aggregations[0][0] == "max", expression


@every_dashboard
def test_what_processes_measure_for_themselves_is_kept_apart_first(dashboard: Dashboard) -> None:
    """The maximum by instance takes a process once that is scraped at two addresses."""
    for expression in expressions(dashboard):
        for selector in selectors(expression):
            if selector.metric in OF_PROCESSES:
                assert "instance" in selector.aggregations[0][1], expression


@every_dashboard
def test_a_sum_adds_up_different_things(dashboard: Dashboard) -> None:
    """The inner maximum keeps all labels by which a metric's series differ, so that no series is lost."""
    for expression in expressions(dashboard):
        for selector in selectors(expression):
            if any(operation in ("sum", "count") for operation, _ in selector.aggregations):
                kept, filtered = set(selector.aggregations[0][1]), selector.labels
                info = selector.metric == "signalbox_queue_info"  # one series for each queue, however many labels
                missing = DECLARED.get(selector.metric, set()) - kept - filtered
                assert info or not missing, (expression, missing)


@every_dashboard
def test_counters_are_shown_as_rates_and_increases(dashboard: Dashboard) -> None:
    """Functions that know of resets, directly over the series: the rate of a sum or a maximum would jump at each."""
    for expression in expressions(dashboard):
        for selector in selectors(expression):
            if is_counter(selector):
                assert selector.functions[:1] in (["rate"], ["increase"]), expression
            else:
                assert not {"rate", "increase"} & set(selector.functions), expression


def is_counter(selector: Selector) -> bool:
    return selector.metric.endswith(("_total", "_bucket", "_sum", "_count"))


@every_dashboard
def test_windows_follow_what_is_shown(dashboard: Dashboard) -> None:
    """A fixed window is one that the panel speaks of."""
    for panel in asking(dashboard):
        for query in panel["targets"]:
            for selector in selectors(query["expr"]):
                if selector.window == "$__range":  # once for the whole range, not once for every point
                    assert selector.fixed or query["instant"], query["expr"]
                elif selector.window not in (None, "$__rate_interval"):
                    assert spoken(selector.window) in f"{query['legendFormat']} {panel['description']}", query["expr"]


def spoken(window: str) -> str:
    number, unit = int(window[:-1]), {"m": "minute", "h": "hour", "d": "day"}[window[-1]]
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


@every_dashboard
def test_a_thousand_queues_are_not_a_thousand_lines(dashboard: Dashboard) -> None:
    """A query that keeps queues or tenants apart, of more than one, is bounded by topk."""
    for expression in expressions(dashboard):
        parts = selectors(expression)
        kept = [selector for selector in parts if selector.aggregations and keeps_apart(selector)]
        if kept:
            assert any({"topk", "bottomk"} & dict(selector.aggregations).keys() for selector in parts), expression


def keeps_apart(selector: Selector) -> bool:
    """The outermost aggregation still names queues or tenants that the selector does not name one of."""
    outermost = [labels for operation, labels in selector.aggregations if operation not in ("topk", "bottomk")][-1]
    one_queue = any(f'queue="{variable}"' in str(selector.above[-1]) for variable in ("$queue", "$dead_letter_queue"))
    return bool({"queue", "tenant"} & set(outermost)) and not one_queue


@every_dashboard
def test_promtool_reads_every_query(dashboard: Dashboard, tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:query:{number}", "expr": plain(expression)}
        for number, expression in enumerate(asked(dashboard))
    ]
    file = tmp_path / "queries.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))

    checked = subprocess.run(["promtool", "check", "rules", file], capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stderr
    assert f"{len(rules)} rules found" in checked.stdout


def test_every_metric_is_on_a_dashboard() -> None:
    shown = {
        selector.metric
        for dashboard in DASHBOARDS.values()
        for expression in expressions(dashboard)
        for selector in selectors(expression)
    }

    assert {metric.name for metric in METRICS if not shown & series(metric).keys()} == set()
