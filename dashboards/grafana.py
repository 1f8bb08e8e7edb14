"""Make grafana-dashboard-builder write for current Grafana during a build.

The builder finds dashboards by their exact class, so two methods are replaced instead of a subclass. `Dashboard` writes
schema version 41 with every panel placed on the grid, and `Context` replaces only known placeholders: other braces
belong to PromQL and Grafana.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from grafana_dashboards.components.dashboards import Dashboard
from grafana_dashboards.context import Context

from dashboards.components.keys import refuse_unknown
from dashboards.components.links import out_of_grafana, to_the_others
from dashboards.components.variables import FROM_GRAFANA

SCHEMA_VERSION = 41
OLDEST_GRAFANA = "11.0.0"
GRID_WIDTH = 24
KEYS = ("title", "description", "uid", "tags", "time", "refresh", "rows", "templates", "annotations", "links")

_NAMES = {
    "bargauge": "Bar gauge",
    "heatmap": "Heatmap",
    "stat": "Stat",
    "state-timeline": "State timeline",
    "table": "Table",
    "text": "Text",
    "timeseries": "Time series",
}

# {word}, but not {{word}}, which is a label in a legend.
_PLACEHOLDER = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")


@contextmanager
def current_schema() -> Iterator[None]:
    """Make the builder write dashboards for current versions of Grafana within the block."""
    old_dashboard, old_expand = Dashboard.gen_json_from_data, Context.expand_placeholders

    def gen_json_from_data(self: Any, data: dict[str, Any], context: Any) -> dict[str, Any]:
        refuse_unknown("dashboard", data, KEYS)
        return _modern(data, old_dashboard(self, data, context))

    Dashboard.gen_json_from_data, Context.expand_placeholders = gen_json_from_data, _expand_placeholders
    try:
        yield
    finally:
        Dashboard.gen_json_from_data, Context.expand_placeholders = old_dashboard, old_expand


def _modern(data: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """Convert a dashboard of rows and spans to schema version 41."""
    panels = list(_placed(old["rows"]))
    return {
        **requirements_of(panels),
        "annotations": {"list": [FROM_GRAFANA, *old["annotations"]["list"]]},
        "description": " ".join(data["description"].split()),
        "graphTooltip": 1,
        "links": [to_the_others(old["tags"]), *(out_of_grafana(title, url) for title, url in data["links"].items())],
        "panels": panels,
        "preload": False,
        "refresh": old["refresh"],
        "schemaVersion": SCHEMA_VERSION,
        "tags": old["tags"],
        "templating": {"list": old["templating"]["list"]},
        "time": old["time"],
        "timepicker": {},
        "timezone": "browser",
        "title": old["title"],
        "uid": old["uid"],
        "version": 1,
    }


def requirements_of(panels: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The keys `__inputs` and `__requires` of an export, which state what a dashboard needs from its Grafana.

    There are no inputs, because only the import form fills them in: a dashboard that is provisioned from a file would
    keep its placeholders. The data source is a variable instead.
    """
    types = sorted({panel["type"] for panel in panels} - {"row"})
    return {
        "__inputs": [],
        "__requires": [
            {"id": "grafana", "name": "Grafana", "type": "grafana", "version": OLDEST_GRAFANA},
            {"id": "prometheus", "name": "Prometheus", "type": "datasource", "version": "1.0.0"},
            *({"id": kind, "name": _NAMES[kind], "type": "panel", "version": ""} for kind in types),
        ],
    }


def _placed(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the header and panels of each row with ids and positions, from left to right and top to bottom."""
    top, number = 0, 0
    for row in rows:
        number += 1
        position = {"h": 1, "w": GRID_WIDTH, "x": 0, "y": top}
        yield {"gridPos": position, "id": number, "panels": [], "title": row["title"], "type": "row"}
        top, left, tallest = top + 1, 0, 0
        for panel in row["panels"]:
            number += 1
            width, height = panel["gridPos"]["w"], panel["gridPos"]["h"]
            if left + width > GRID_WIDTH:
                top, left, tallest = top + tallest, 0, 0
            yield panel | {"gridPos": {"h": height, "w": width, "x": left, "y": top}, "id": number}
            left, tallest = left + width, max(tallest, height)
        top += tallest


def _expand_placeholders(context: Any, value: Any) -> Any:
    """Replace each {name} in a value for which the context has a value."""
    known = context._context or {}
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda match: str(known.get(match[1], match[0])), value)
    if isinstance(value, list):
        return [_expand_placeholders(context, item) for item in value]
    if isinstance(value, dict):
        return {key: _expand_placeholders(context, item) for key, item in value.items()}
    return value
