"""The example files by which Grafana finds the dashboards and the Prometheus behind them."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from dashboards import build
from tests.dashboards.built import DASHBOARDS, variables

ROOT = Path(__file__).parents[2]
PROVISIONING = ROOT / "dashboards" / "provisioning"
CHECKOUT = PurePosixPath("/opt/signalbox")
ARRANGED_BY_GRAFANA = {"dashboards": "providers", "datasources": "datasources"}


# What Grafana reads in these files; it would pass over a misspelt key without a word.
KNOWN = {
    "dashboards": {
        *("name", "orgId", "type", "folder", "folderUid", "disableDeletion", "allowUiUpdates"),
        *("updateIntervalSeconds", "options"),
    },
    "datasources": {"name", "uid", "type", "access", "url", "isDefault", "editable", "jsonData", "orgId", "version"},
}


def read(kind: str) -> dict[str, Any]:
    settings = yaml.safe_load((PROVISIONING / kind / "signalbox.yaml").read_text())
    assert settings["apiVersion"] == 1
    assert set(settings) == {"apiVersion", ARRANGED_BY_GRAFANA[kind]}
    (only,) = settings[ARRANGED_BY_GRAFANA[kind]]
    assert set(only) <= KNOWN[kind]
    return only  # type: ignore[no-any-return]


def test_the_folders_are_those_that_grafana_looks_into() -> None:
    assert {path.name for path in PROVISIONING.iterdir()} == ARRANGED_BY_GRAFANA.keys()


def test_the_provider_names_the_folder_of_the_built_dashboards() -> None:
    provider = read("dashboards")

    assert provider["type"] == "file"
    assert set(provider["options"]) == {"path", "foldersFromFilesStructure"}
    folder = PurePosixPath(provider["options"]["path"]).relative_to(CHECKOUT)
    assert ROOT / folder == build.BUILT
    assert {path.name for path in (ROOT / folder).iterdir()} == set(DASHBOARDS)  # Grafana would read any other JSON too


def test_the_data_source_is_one_that_the_dashboards_offer() -> None:
    source = read("datasources")

    assert {variables(dashboard)["datasource"]["query"] for dashboard in DASHBOARDS.values()} == {source["type"]}
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", source["uid"])


def test_the_data_source_knows_how_often_is_scraped() -> None:
    (documented,) = set(re.findall(r"scrape_interval: (\w+)", (ROOT / "docs" / "run" / "monitoring.md").read_text()))

    assert read("datasources")["jsonData"]["timeInterval"] == documented
