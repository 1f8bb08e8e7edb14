"""Layout of the dashboards: descriptions, units, positions and working links."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

from grafana_foundation_sdk.models import units as grafana_units

from dashboards.components.queries import DATASOURCE
from tests.dashboards.built import (
    DASHBOARDS,
    Dashboard,
    Panel,
    alert_marks,
    asking,
    drawn,
    every_dashboard,
    variables,
)

KNOWN_UNITS = {value for value in vars(grafana_units).values() if isinstance(value, str)} | {"suffix: x"}


def units(panel: Panel) -> set[str]:
    """The units of the numbers that a panel shows; "" stands for a number without one."""
    if panel["type"] == "heatmap":
        return {panel["options"]["yAxis"]["unit"]}
    if panel["type"] != "table":
        return {panel["fieldConfig"]["defaults"].get("unit", "")}
    names = panel["transformations"][-1]["options"]["renameByName"]
    shown = [name for field, name in names.items() if field.startswith("Value")]
    looks = {look["matcher"]["options"]: look["properties"] for look in panel["fieldConfig"]["overrides"]}
    return {next((p["value"] for p in looks.get(name, []) if p["id"] == "unit"), "") for name in shown}


@every_dashboard
def test_every_panel_says_what_it_shows_and_in_which_unit(dashboard: Dashboard) -> None:
    for panel in drawn(dashboard):
        assert panel["title"]
        assert panel["description"].endswith("."), panel["title"]
    for panel in asking(dashboard):
        assert units(panel) <= KNOWN_UNITS, panel["title"]


@every_dashboard
def test_what_an_empty_table_says_is_not_said_in_its_cells(dashboard: Dashboard) -> None:
    for panel in asking(dashboard):
        if panel["type"] == "table" and "noValue" in panel["fieldConfig"]["defaults"]:
            columns = set(panel["transformations"][-1]["options"]["renameByName"].values())
            overridden = {
                look["matcher"]["options"]
                for look in panel["fieldConfig"]["overrides"]
                if any(one["id"] == "noValue" for one in look["properties"])
            }
            assert overridden == columns, panel["title"]


@every_dashboard
def test_no_panel_has_the_title_of_another_in_its_row(dashboard: Dashboard) -> None:
    row, seen = "", set()
    for panel in dashboard["panels"]:
        row = panel["title"] if panel["type"] == "row" else row
        title = (row, panel["title"], panel["type"])
        assert title not in seen
        seen.add(title)


@every_dashboard
def test_series_have_names(dashboard: Dashboard) -> None:
    for panel in asking(dashboard):
        if panel["type"] in ("timeseries", "bargauge", "state-timeline"):
            assert all(query["legendFormat"] != "__auto" for query in panel["targets"]), panel["title"]


@every_dashboard
def test_everything_is_asked_of_the_data_source_that_the_viewer_chose(dashboard: Dashboard) -> None:
    askers: list[dict[str, Any]] = [*asking(dashboard), *alert_marks(dashboard)]
    askers += [query for panel in asking(dashboard) for query in panel["targets"]]
    askers += [variable for variable in variables(dashboard).values() if variable["type"] == "query"]

    assert {json.dumps(asker["datasource"], sort_keys=True) for asker in askers} == {json.dumps(DATASOURCE)}


@every_dashboard
def test_no_panel_covers_another_or_leaves_the_grid(dashboard: Dashboard) -> None:
    taken: dict[tuple[int, int], int] = {}
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        for cell in itertools.product(range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])):
            assert taken.setdefault(cell, panel["id"]) == panel["id"], panel["title"]


@every_dashboard
def test_rows_of_panels_fill_the_width(dashboard: Dashboard) -> None:
    for top, panels in itertools.groupby(drawn(dashboard), key=lambda panel: panel["gridPos"]["y"]):
        line = list(panels)
        assert sum(panel["gridPos"]["w"] for panel in line) == 24, (top, [panel["title"] for panel in line])


@every_dashboard
def test_panels_and_their_queries_are_numbered(dashboard: Dashboard) -> None:
    assert [panel["id"] for panel in dashboard["panels"]] == list(range(1, len(dashboard["panels"]) + 1))
    for panel in asking(dashboard):
        assert [query["refId"] for query in panel["targets"]] == list("ABCDEFGH"[: len(panel["targets"])])


@every_dashboard
def test_no_panel_is_repeated(dashboard: Dashboard) -> None:
    """One for each queue would be a thousand panels; tables and the ten largest stand in for that."""
    assert [panel["title"] for panel in dashboard["panels"] if panel.get("repeat")] == []


@every_dashboard
def test_no_placeholder_is_left(dashboard: Dashboard) -> None:
    text = json.dumps(dashboard)

    assert not re.search(r"(?<![{$])\{\w+\}(?!\})", text)
    used = set(re.findall(r"\$\{?([a-z_]\w*)", text))
    given = {"__rate_interval", "__range", "__data", "__field", "__value", "__all", "__url_time_range"}
    assert used - given <= variables(dashboard).keys()


def links_of(found: Any) -> list[str]:
    """Every address anywhere in it."""
    if isinstance(found, list):
        return [url for item in found for url in links_of(item)]
    if isinstance(found, dict):
        own = [found["url"]] if isinstance(found.get("url"), str) else []
        return own + [url for value in found.values() for url in links_of(value)]
    return []


@every_dashboard
def test_links_lead_to_dashboards_that_exist_and_set_variables_that_these_have(dashboard: Dashboard) -> None:
    by_uid = {other["uid"]: other for other in DASHBOARDS.values()}
    for url in links_of(dashboard):
        if found := re.match(r"/d/([\w-]+)\?(.*)", url):
            uid, query = found.groups()
            names = re.findall(r"var-(\w+)=", query) + re.findall(r"\$\{(\w+):queryparam\}", query)
            assert set(names) <= variables(by_uid[uid]).keys(), url
            assert {"tenant", "queue"} <= set(names), url


@every_dashboard
def test_a_menu_leads_to_the_other_dashboards(dashboard: Dashboard) -> None:
    (menu,) = [link for link in dashboard["links"] if link["type"] == "dashboards"]

    assert all(set(menu["tags"]) <= set(other["tags"]) for other in DASHBOARDS.values())
    assert menu["includeVars"]
    assert menu["keepTime"]


@every_dashboard
def test_alerts_are_marked_on_the_time_axis(dashboard: Dashboard) -> None:
    (mark,) = alert_marks(dashboard)

    assert mark["enable"]
    assert 'alertstate="firing"' in mark["target"]["expr"]
