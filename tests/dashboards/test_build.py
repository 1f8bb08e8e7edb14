"""The dashboards as they are committed: current, whole, and asking only for what exists."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command

from dashboards import build
from dashboards.components.keys import UnknownKeyError
from metrics.names import METRICS

DASHBOARDS = {path.name: json.loads(path.read_text()) for path in sorted(build.BUILT.glob("*.json"))}
DECLARED = {metric.name: metric for metric in METRICS}

every_dashboard = pytest.mark.parametrize("dashboard", DASHBOARDS.values(), ids=DASHBOARDS.keys())


def drawn(dashboard: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The panels that are not headers of rows."""
    return (panel for panel in dashboard["panels"] if panel["type"] != "row")


def expressions(dashboard: dict[str, Any]) -> list[str]:
    return [query["expr"] for panel in drawn(dashboard) for query in panel["targets"]]


def test_there_is_a_dashboard_for_the_fleet_and_one_for_a_queue() -> None:
    assert list(DASHBOARDS) == ["signalbox-fleet.json", "signalbox-queue.json"]


def test_committed_dashboards_are_what_the_sources_give() -> None:
    assert build.outdated() == []


def test_a_build_is_repeatable() -> None:
    assert build.build() == build.build()


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the built files that a test may spoil."""
    copy = tmp_path / "built"
    shutil.copytree(build.BUILT, copy)
    monkeypatch.setattr(build, "BUILT", copy)
    return copy


def test_check_names_what_is_out_of_date_and_changes_nothing(built: Path) -> None:
    (built / "signalbox-fleet.json").write_text("{}")
    (built / "left-over.json").write_text("{}")

    with pytest.raises(CommandError, match=r"left-over\.json, signalbox-fleet\.json"):
        call_command("dashboards", "build", "--check")
    assert (built / "signalbox-fleet.json").read_text() == "{}"


def test_build_brings_the_folder_up_to_date(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (built / "signalbox-fleet.json").unlink()
    (built / "left-over.json").write_text("{}")

    call_command("dashboards")
    assert capsys.readouterr().out == "written: left-over.json, signalbox-fleet.json\n"
    call_command("dashboards", "build")
    assert capsys.readouterr().out == "up to date\n"


def test_a_key_that_no_component_knows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(build.SOURCES, tmp_path / "sources")
    source = tmp_path / "sources" / "queue.yaml"
    source.write_text(source.read_text().replace("stack: true", "stacked: true"))
    monkeypatch.setattr(build, "SOURCES", tmp_path / "sources")

    with pytest.raises(UnknownKeyError, match="'Messages by state' does not know stacked"):
        build.build()


@every_dashboard
def test_a_dashboard_is_of_the_present_schema(dashboard: dict[str, Any]) -> None:
    assert dashboard["schemaVersion"] == 41
    assert "rows" not in dashboard
    assert "id" not in dashboard  # Grafana's own; a file with one would overwrite another's dashboard
    assert [variable["name"] for variable in dashboard["templating"]["list"]][:2] == ["datasource", "job"]


@every_dashboard
def test_no_panel_covers_another(dashboard: dict[str, Any]) -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        for cell in itertools.product(range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])):
            assert taken.setdefault(cell, panel["title"]) == panel["title"]


@every_dashboard
def test_panels_and_their_queries_are_numbered(dashboard: dict[str, Any]) -> None:
    assert [panel["id"] for panel in dashboard["panels"]] == list(range(1, len(dashboard["panels"]) + 1))
    for panel in drawn(dashboard):
        assert [query["refId"] for query in panel["targets"]] == list("ABCDEFGH"[: len(panel["targets"])])


@every_dashboard
def test_every_panel_says_what_it_shows_and_in_which_unit(dashboard: dict[str, Any]) -> None:
    for panel in drawn(dashboard):
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["datasource"]["uid"] == "${datasource}"
        if panel["type"] == "timeseries":
            assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]


@every_dashboard
def test_no_placeholder_is_left(dashboard: dict[str, Any]) -> None:
    text = json.dumps(dashboard)

    assert not re.search(r"(?<![{$])\{\w+\}(?!\})", text)
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", text)) - {"__rate_interval", "__data", "__all"}
    assert used <= variables


@every_dashboard
def test_dashboards_ask_only_for_declared_metrics_and_labels(dashboard: dict[str, Any]) -> None:
    asked = [*expressions(dashboard), *(str(variable["query"]) for variable in dashboard["templating"]["list"])]

    for expression in asked:
        for name, matchers in re.findall(r"(signalbox_\w+)(?:\{([^}]*)\})?", expression):
            assert name in DECLARED, expression
            labels = set(re.findall(r"(\w+)=", matchers))
            assert labels <= {*DECLARED[name].labels, "job"}, expression


@every_dashboard
def test_counters_are_shown_as_rates(dashboard: dict[str, Any]) -> None:
    for expression in expressions(dashboard):
        for name in re.findall(r"signalbox_\w+_total", expression):
            assert re.search(rf"rate\({name}\{{[^}}]*\}}\[(\$__rate_interval|5m)\]\)", expression), expression


@every_dashboard
def test_promtool_reads_every_query(dashboard: dict[str, Any], tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:query:{number}", "expr": expression.replace("$__rate_interval", "1m")}
        for number, expression in enumerate(expressions(dashboard))
    ]
    file = tmp_path / "queries.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))

    checked = subprocess.run(["promtool", "check", "rules", file], capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stderr
    assert f"{len(rules)} rules found" in checked.stdout


def test_every_queue_metric_is_on_a_dashboard() -> None:
    shown = " ".join(expression for dashboard in DASHBOARDS.values() for expression in expressions(dashboard))

    assert {name for name in DECLARED if not re.search(rf"{name}\b", shown)} == set()
