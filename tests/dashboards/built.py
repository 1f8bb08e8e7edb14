"""The dashboards as they are committed, and the ways tests walk through them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dashboards import build

Dashboard = dict[str, Any]
Panel = dict[str, Any]

DASHBOARDS: dict[str, Dashboard] = {
    path.name: json.loads(path.read_text()) for path in sorted(build.BUILT.glob("*.json"))
}

every_dashboard = pytest.mark.parametrize("dashboard", DASHBOARDS.values(), ids=DASHBOARDS.keys())


def drawn(dashboard: Dashboard) -> Iterator[Panel]:
    """The panels that are not headers of rows."""
    return (panel for panel in dashboard["panels"] if panel["type"] != "row")


def asking(dashboard: Dashboard) -> Iterator[Panel]:
    """The panels that ask Prometheus something."""
    return (panel for panel in drawn(dashboard) if panel["type"] != "text")


def variables(dashboard: Dashboard) -> dict[str, dict[str, Any]]:
    return {variable["name"]: variable for variable in dashboard["templating"]["list"]}


def alert_marks(dashboard: Dashboard) -> list[dict[str, Any]]:
    """The annotations that are asked of Prometheus."""
    return [mark for mark in dashboard["annotations"]["list"] if "target" in mark]


def expressions(dashboard: Dashboard) -> list[str]:
    """Queries of all panels."""
    return [query["expr"] for panel in asking(dashboard) for query in panel["targets"]]
