"""Arithmetic of the dashboards' queries: promtool computes them over made-up series.

Two replicas of the console give each number twice, once for each instance; now and then a counter restarts from zero.
These tests find numbers that mislead a viewer: twice as much, a spike, a thousand lines.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.dashboards.built import DASHBOARDS

AT = "30m"
"""When is looked: by then every series has lasted long enough for the windows below."""
SHOWN = {"$__rate_interval": "5m", "$__range": "20m"}
CHOSEN = {"$job": "signalbox", "$tenant": ".*", "$queue": "orders", "$dead_letter_queue": "orders-dlq"}
REPLICAS = ("a:8000", "b:8000")


def question(dashboard: str, row: str, title: str, number: int = 0, **chosen: str) -> str:
    """The expression of a panel, below the row of this title, as Grafana sends it."""
    below = ""
    for panel in DASHBOARDS[f"signalbox-{dashboard}.json"]["panels"]:
        if panel["type"] == "row":
            below = panel["title"]
        elif (below, panel["title"]) == (row, title):
            return filled_in(panel["targets"][number]["expr"], **chosen)
    raise LookupError(f"{dashboard} has no panel {title!r} below {row!r}")


def filled_in(expression: str, **chosen: str) -> str:
    values = CHOSEN | SHOWN | {f"${name}": value for name, value in chosen.items()}
    return re.sub(r"\$\w+", lambda match: values[match[0]], expression)


@dataclass
class Series:
    """Made-up series, one sample a minute, and what is asked of them."""

    given: list[dict[str, str]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def give(self, metric: str, values: str, *, replicas: Iterable[str] = REPLICAS, **labels: str) -> None:
        """`values` as promtool writes them: 0+60x30 is 60 more each minute."""
        for replica in replicas:
            inside = {"job": "signalbox", "instance": replica} | labels
            text = ",".join(f'{name}="{value}"' for name, value in inside.items())
            self.given.append({"series": f"signalbox_{metric}{{{text}}}", "values": values})

    def expect(self, expression: str, *values: float, **labelled: float) -> None:
        """Expect rounded values, since promtool compares exactly. `labelled` gives the values by the label queue."""
        found = [{"labels": "{}", "value": value} for value in values]
        found += [{"labels": f'{{tenant="acme",queue="{name}"}}', "value": value} for name, value in labelled.items()]
        self.asked.append({"expr": f"round({expression}, 0.01)", "eval_time": AT, "exp_samples": found})

    def check(self, folder: Path) -> None:
        file = folder / "series.yaml"
        test = {"interval": "1m", "input_series": self.given, "promql_expr_test": self.asked}
        file.write_text(yaml.safe_dump({"rule_files": [], "evaluation_interval": "1m", "tests": [test]}))
        done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_replicas_count_once(tmp_path: Path) -> None:
    series = Series()
    for tenant in ("acme", "umbrella"):
        series.give("tenant_messages", "7x40", tenant=tenant, state="ready")
        series.give("tenant_messages_added_total", "0+60x40", tenant=tenant)
        series.give("tenant_queues", "3x40", tenant=tenant)
    series.give("messages_nacked_total", "0+30x40", tenant="acme", queue="orders")
    series.give("exporter_up", "1x40")

    series.expect(question("fleet", "Now", "Ready"), 14)
    series.expect(question("fleet", "Now", "Ready", tenant="(acme)"), 7)
    series.expect(question("fleet", "Now", "Queues"), 6)
    series.expect(question("fleet", "Flow", "In and out"), 2)  # a message a second for each tenant
    series.expect(question("fleet", "Flow", "Failures"), 0.5)
    series.expect(question("fleet", "Exporter", "Fresh replicas"), 2)
    series.check(tmp_path)


def test_both_pages_of_a_replica_count_once(tmp_path: Path) -> None:
    """Series that are on both pages of a replica count once, those of a process too."""
    series = Series()
    for page in ("", "queues"):
        series.give("exporter_up", "1x40", page=page)
        series.give("tenant_messages", "7x40", tenant="acme", state="ready", page=page)
        for bound, values in (("0.1", "0+30x40"), ("1", "0+60x40"), ("+Inf", "0+60x40")):
            series.give("publish_duration_seconds_bucket", values, le=bound, page=page)

    series.expect(question("fleet", "Exporter", "Fresh replicas"), 2)
    series.expect(question("fleet", "Now", "Ready"), 7)
    series.expect(f"sum({question('engine', 'Verbs', 'Sends')})", 1 + 2 + 2)  # buckets of two processes
    series.expect(question("engine", "Verbs", "Send duration percentiles"), 0.1)
    series.check(tmp_path)


def test_a_counter_reset_makes_no_spike(tmp_path: Path) -> None:
    """The database came back from a backup: 60 a minute, from nothing once more."""
    series = Series()
    series.give("queue_messages_added_total", "1000+60x27 0+60x13", tenant="acme", queue="orders")
    series.give("tenant_messages_added_total", "1000+60x27 0+60x13", tenant="acme")
    series.give("dead_lettered_total", "500+6x27 0+6x13", tenant="acme", queue="orders", reason="rejected")

    series.expect(question("queue", "Flow", "In and out", tenant="acme"), 0.8)  # one minute of five is lost
    series.expect(question("fleet", "Flow", "In and out"), 0.8)
    series.expect(question("dead-letters", "Inflow", "Dead-lettered, by reason").replace("by (reason)", ""), 0.08)
    series.check(tmp_path)


def test_a_replica_that_went_away_leaves_the_numbers_of_the_other(tmp_path: Path) -> None:
    series = Series()
    series.give("tenant_messages", "9x20 stale", replicas=["a:8000"], tenant="acme", state="ready")
    series.give("tenant_messages", "7x40", replicas=["b:8000"], tenant="acme", state="ready")

    series.expect(question("fleet", "Now", "Ready"), 7)
    series.check(tmp_path)


def test_a_deleted_queue_leaves_tables_and_stays_in_graphs_of_its_time(tmp_path: Path) -> None:
    series = Series()
    for queue, values in (("gone", "5x20 stale"), ("here", "4x40")):
        series.give("queue_messages", values, tenant="acme", queue=queue, state="dead")
        series.give("queue_alert_threshold", "0x40", tenant="acme", queue=queue, check="dead_letters")

    series.expect(question("fleet", "Problems", "Dead letters"), here=4)
    series.expect(question("fleet", "Problems", "Dead letters", 1), here=0)
    series.asked.append(
        {
            "expr": question("dead-letters", "Kept", "Dead letters by queue").replace("[20m] @ end()", "[20m]"),
            "eval_time": "15m",
            "exp_samples": [
                {"labels": '{tenant="acme",queue="gone"}', "value": 5},
                {"labels": '{tenant="acme",queue="here"}', "value": 4},
            ],
        }
    )
    series.check(tmp_path)


def test_a_thousand_queues_make_short_tables_and_few_lines(tmp_path: Path) -> None:
    series = Series()
    for number in range(1000):
        queue = {"tenant": f"tenant-{number % 100}", "queue": f"queue-{number}"}
        for state in ("ready", "waiting", "dead"):
            series.give("queue_messages", f"{number}x40", replicas=REPLICAS[:1], state=state, **queue)
        series.give("queue_oldest_visible_age_seconds", f"{number}x40", replicas=REPLICAS[:1], **queue)
        series.give("queue_alert_threshold", "10x40", replicas=REPLICAS[:1], check="oldest_age_seconds", **queue)
        series.give("queue_consumers", "0x40", replicas=REPLICAS[:1], **queue)

    for row, title, most in (
        ("Problems", "Oldest messages", 20),
        ("Problems", "Dead letters", 20),
        ("Problems", "No active consumers", 20),
        ("Flow", "Backlog", 10),
        ("Flow", "Oldest ready message", 10),
    ):
        series.expect(f"count({question('fleet', row, title)})", most)
    series.expect(f"count({question('tenants', 'Message groups', 'Waiting for their group')})", 10)
    series.expect(f"count({question('dead-letters', 'Kept', 'Dead letters by queue')})", 10)
    series.check(tmp_path)


def test_an_empty_installation_shows_nothing_rather_than_errors(tmp_path: Path) -> None:
    series = Series()
    series.give("exporter_up", "1x40")

    for dashboard in DASHBOARDS.values():
        for panel in dashboard["panels"]:
            for query in panel.get("targets", []):
                if "exporter" not in query["expr"]:
                    series.asked.append({"expr": filled_in(query["expr"]), "eval_time": AT, "exp_samples": []})
    assert series.asked
    series.check(tmp_path)


def test_waits_are_percentiles_and_budgets_burn(tmp_path: Path) -> None:
    series, queue = Series(), {"tenant": "acme", "queue": "orders"}
    for bound, values in (("1", "0+50x400"), ("5", "0+100x400"), ("+Inf", "0+100x400")):
        series.give("wait_seconds_bucket", values, le=bound, **queue)
    series.give("wait_seconds_sum", "0+200x400", **queue)
    series.give("wait_seconds_count", "0+100x400", **queue)
    series.give("first_receives_total", "0+90x400", slo="met", **queue)
    series.give("first_receives_total", "0+10x400", slo="missed", **queue)
    series.give("queue_slo_target_ratio", "0.99x400", **queue)

    working = "Waiting and processing"
    series.expect(question("queue", working, "Queue latency percentiles", tenant="acme"), 1)
    series.expect(question("queue", working, "Queue latency percentiles", 1, tenant="acme"), 4.6)
    series.expect(question("queue", working, "Means", tenant="acme"), 2)
    series.expect(question("queue", "Wait target", "Within target", tenant="acme"), 0.9)
    series.expect(question("queue", "Wait target", "Wait budget burn rate", tenant="acme"), 10)
    series.expect(question("queue", "Wait target", "Wait budget burn rate", 1, tenant="acme"), 10)
    series.expect(question("fleet", "Wait targets", "Wait budgets used most"), orders=10)
    series.check(tmp_path)


def test_a_queue_that_shrinks_says_when_it_is_empty(tmp_path: Path) -> None:
    drained = question("queue", "Now", "Backlog ETA", tenant="acme")
    for added, removed, ready, expected in (
        ("0+60x40", "0+120x40", "600x40", [600.0]),
        ("0+60x40", "0+60x40", "600x40", []),
        ("0+60x40", "0+60x40", "0x40", [0.0]),
    ):
        series, queue = Series(), {"tenant": "acme", "queue": "orders"}
        series.give("queue_messages_added_total", added, **queue)
        series.give("queue_messages_removed_total", removed, **queue)
        series.give("queue_messages", ready, state="ready", **queue)
        series.expect(drained, *expected)
        series.check(tmp_path)
