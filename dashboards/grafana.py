"""Make grafana-dashboard-builder write for current Grafana during a build.

Its Project looks dashboards up by their very class, so a subclass would not be found: two methods are replaced instead.
`Dashboard` writes schema version 41 with every panel placed on the grid, and `Context` replaces the placeholders it
knows and leaves all other braces, which are PromQL's and Grafana's, alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from grafana_dashboards.components.dashboards import Dashboard
from grafana_dashboards.context import Context

from dashboards.components.annotations import FROM_GRAFANA
from dashboards.components.keys import refuse_unknown
from dashboards.components.links import out_of_grafana, to_the_others
from dashboards.requirements import what_it_needs

SCHEMA_VERSION = 41
GRID_WIDTH = 24
KEYS = ("title", "description", "uid", "tags", "time", "refresh", "rows", "templates", "annotations", "links")

# {word}, but not {{word}}, which is a label in a legend.
_PLACEHOLDER = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")


@contextmanager
def present_day() -> Iterator[None]:
    """Block within which the builder writes for current Grafana."""
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
    """A dashboard of schema version 41 from one of rows and spans."""
    panels = list(_placed(old["rows"]))
    return {
        **what_it_needs(panels),
        "annotations": {"list": [FROM_GRAFANA, *old["annotations"]["list"]]},
        "description": " ".join(data["description"].split()),
        "editable": True,
        "fiscalYearStartMonth": 0,
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


def _placed(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every row's header and panels, numbered, filled from left to right and top to bottom."""
    top, number = 0, 0
    for row in rows:
        number += 1
        position = {"h": 1, "w": GRID_WIDTH, "x": 0, "y": top}
        yield {
            "collapsed": False,
            "gridPos": position,
            "id": number,
            "panels": [],
            "title": row["title"],
            "type": "row",
        }
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
    """`value` with {name} replaced wherever the context has that name."""
    known = context._context or {}
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda match: str(known.get(match[1], match[0])), value)
    if isinstance(value, list):
        return [_expand_placeholders(context, item) for item in value]
    if isinstance(value, dict):
        return {key: _expand_placeholders(context, item) for key, item in value.items()}
    return value
