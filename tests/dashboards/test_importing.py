"""Import of the dashboards into Grafana 11 to 13, by form and by file, as far as their JSON shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

from dashboards.grafana import OLDEST_GRAFANA
from tests.dashboards.built import DASHBOARDS, Dashboard, asking, drawn, every_dashboard, variables

ROOT = Path(__file__).parents[2]

# Addresses and bookmarks name them; a changed uid would leave a second copy behind wherever the first was imported.
UIDS = {
    "signalbox-dead-letters.json": "signalbox-dead-letters",
    "signalbox-engine.json": "signalbox-engine",
    "signalbox-fleet.json": "signalbox-fleet",
    "signalbox-queue.json": "signalbox-queue",
    "signalbox-streams.json": "signalbox-streams",
    "signalbox-tenants.json": "signalbox-tenants",
}


def test_there_are_six_dashboards_whose_addresses_stay() -> None:
    assert {name: dashboard["uid"] for name, dashboard in DASHBOARDS.items()} == UIDS
    assert len({dashboard["title"] for dashboard in DASHBOARDS.values()}) == 6  # or one folder could not hold them all


def test_each_has_a_small_picture_on_the_page_of_pictures() -> None:
    pictures = [name.removeprefix("signalbox-").replace(".json", ".png") for name in UIDS]
    files = sorted((ROOT / "docs" / "images" / "dashboards").iterdir())

    assert [path.name for path in files] == sorted(pictures)
    assert sum(path.stat().st_size for path in files) < 600_000
    shown = (ROOT / "docs" / "run" / "dashboards-pictures.md").read_text()
    assert sorted(re.findall(r"\(\.\./images/dashboards/(\S+)\)", shown)) == sorted(pictures)


@every_dashboard
def test_uid_title_and_tags_are_within_what_grafana_allows(dashboard: Dashboard) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", dashboard["uid"])
    assert dashboard["title"].startswith("Signalbox / ")
    assert dashboard["tags"] == ["signalbox"]
    assert "id" not in dashboard  # Grafana's own; a file with one would overwrite another's dashboard


@every_dashboard
def test_a_dashboard_is_of_a_schema_that_all_of_them_read(dashboard: Dashboard) -> None:
    """41 is Grafana 12's; 11 ignores the one step ahead, 13 migrates from there."""
    assert dashboard["schemaVersion"] == 41
    assert not {"rows", "nav", "hideControls", "sharedCrosshair", "time_options"} & dashboard.keys()
    assert "time_options" not in dashboard["timepicker"]


@every_dashboard
def test_grafana_13_takes_it_for_what_it_is(dashboard: Dashboard) -> None:
    """Grafana distinguishes schemas by these keys: the first has title and panels, the second elements."""
    assert {"title", "panels"} <= dashboard.keys()
    assert not {"elements", "layout", "variables", "kind", "spec", "apiVersion", "dashboard"} & dashboard.keys()
    assert set(dashboard["annotations"]) == {"list"}


@every_dashboard
def test_nothing_has_to_be_filled_in(dashboard: Dashboard) -> None:
    """Inputs are asked for by the import form alone: from a file their placeholders would stay."""
    assert dashboard["__inputs"] == []
    assert not re.search(r"\$\{(DS|VAR)_", json.dumps(dashboard))


@every_dashboard
def test_what_is_required_is_what_is_used(dashboard: Dashboard) -> None:
    required = {(need["type"], need["id"]): need["version"] for need in dashboard["__requires"]}

    assert required.pop(("grafana", "grafana")) == OLDEST_GRAFANA
    assert ("datasource", "prometheus") in required
    assert {kind for what, kind in required if what == "panel"} == {panel["type"] for panel in drawn(dashboard)}


@every_dashboard
def test_first_the_data_source_and_the_installation_are_chosen(dashboard: Dashboard) -> None:
    chosen = variables(dashboard)

    assert list(chosen)[:3] == ["datasource", "job", "console_url"]
    assert (chosen["datasource"]["type"], chosen["datasource"]["query"]) == ("datasource", "prometheus")
    assert chosen["console_url"]["type"] == "textbox"
    assert chosen["console_url"]["current"]["value"] == chosen["console_url"]["query"]


@every_dashboard
def test_values_that_were_chosen_here_are_not_in_the_file(dashboard: Dashboard) -> None:
    for variable in variables(dashboard).values():
        if variable["type"] != "textbox":
            assert variable["current"] in ({}, {"text": "All", "value": "$__all"}), variable["name"]
            assert variable["options"] == []


@every_dashboard
def test_tables_and_heatmaps_ask_in_their_format(dashboard: Dashboard) -> None:
    formats = {"table": "table", "heatmap": "heatmap"}
    for panel in asking(dashboard):
        assert {query.get("format") for query in panel["targets"]} == {formats.get(panel["type"])}, panel["title"]
