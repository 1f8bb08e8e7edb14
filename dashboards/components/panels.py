"""Panels as Grafana 12 draws them. Sizes are in grid units: a dashboard is 24 wide, 8 high is a usual graph."""

from __future__ import annotations

import string
from typing import Any

from grafana_dashboards.components.panels import PanelsItemBase
from grafana_dashboards.components.targets import Targets

from dashboards.components.keys import refuse_unknown
from dashboards.components.queries import DATASOURCE

PLUGIN_VERSION = "12.0.0"  # of the panels written here; Grafana migrates from it
EVERY_PANEL = ("title", "description", "width", "height", "targets", "unit", "decimals", "thresholds")


class GrafanaPanel(PanelsItemBase):  # type: ignore[misc]
    """What all panels share. `thresholds` maps colours to the value from which they hold; the first holds below."""

    type = ""
    keys: tuple[str, ...] = ()
    size = (12, 8)

    def gen_json_from_data(self, data: dict[str, Any], context: Any) -> dict[str, Any]:
        refuse_unknown(self.type, data, (*EVERY_PANEL, *self.keys))
        width, height = self.size
        return {
            "datasource": DATASOURCE,
            "description": " ".join(data["description"].split()),
            "fieldConfig": {"defaults": self.field_defaults(data), "overrides": self.overrides(data)},
            "gridPos": {"w": data.get("width", width), "h": data.get("height", height)},
            "options": self.options(data),
            "pluginVersion": PLUGIN_VERSION,
            "targets": self.queries(data),
            "title": data["title"],
            "type": self.type,
        }

    def queries(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        """The targets, lettered A, B, C."""
        queries = self.registry.create_component(Targets, {"targets": data["targets"]}).gen_json()
        return [query | {"refId": letter} for letter, query in zip(string.ascii_uppercase, queries, strict=False)]

    def field_defaults(self, data: dict[str, Any]) -> dict[str, Any]:
        defaults = {"thresholds": {"mode": "absolute", "steps": _steps(data.get("thresholds", {"green": None}))}}
        return defaults | {name: data[name] for name in ("unit", "decimals") if name in data}

    def overrides(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        return []

    def options(self, data: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


class TimeSeriesPanel(GrafanaPanel):
    """Lines over time. `stack` piles them up; `limits` names the series that are thresholds, drawn dashed and red."""

    type = "timeseries"
    keys = ("stack", "limits")

    def field_defaults(self, data: dict[str, Any]) -> dict[str, Any]:
        stacking = {"group": "A", "mode": "normal" if data.get("stack") else "none"}
        return super().field_defaults(data) | {
            "color": {"mode": "palette-classic"},
            "custom": {
                "drawStyle": "line",
                "fillOpacity": 25 if data.get("stack") else 8,
                "lineInterpolation": "linear",
                "lineWidth": 1,
                "showPoints": "never",
                "spanNulls": False,
                "stacking": stacking,
            },
            "min": 0,
        }

    def overrides(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        dashed: list[dict[str, Any]] = [
            {"id": "color", "value": {"fixedColor": "red", "mode": "fixed"}},
            {"id": "custom.fillOpacity", "value": 0},
            {"id": "custom.lineStyle", "value": {"dash": [10, 10], "fill": "dash"}},
        ]
        return [_override(name, dashed) for name in data.get("limits", [])]

    def options(self, data: dict[str, Any]) -> dict[str, Any]:
        return {
            "legend": {"calcs": ["lastNotNull"], "displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }


class StatPanel(GrafanaPanel):
    """One number, with its recent course behind it unless its query is instant. `none` is shown when there is none."""

    type = "stat"
    keys = ("none",)
    size = (4, 4)

    def field_defaults(self, data: dict[str, Any]) -> dict[str, Any]:
        defaults = super().field_defaults(data) | {"color": {"mode": "thresholds"}}
        return defaults | ({"noValue": data["none"]} if "none" in data else {})

    def options(self, data: dict[str, Any]) -> dict[str, Any]:
        instant = all(query["instant"] for query in self.queries(data))
        return {
            "colorMode": "value",
            "graphMode": "none" if instant else "area",
            "justifyMode": "auto",
            "orientation": "auto",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "textMode": "auto",
            "wideLayout": True,
        }


class TablePanel(GrafanaPanel):
    """One row for each label set. `columns` are labels or the letters of targets, each with its name and looks."""

    type = "table"
    keys = ("columns", "sort")
    size = (8, 8)

    def gen_json_from_data(self, data: dict[str, Any], context: Any) -> dict[str, Any]:
        panel = super().gen_json_from_data(data, context)
        for query in panel["targets"]:
            query["format"] = "table"
        return panel | {"transformations": self._transformations(data)}

    def overrides(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        looks = [(column["name"], _column_looks(column)) for column in data["columns"]]
        return [_override(name, properties) for name, properties in looks if properties]

    def options(self, data: dict[str, Any]) -> dict[str, Any]:
        sort = [{"desc": True, "displayName": data["sort"]}] if "sort" in data else []
        return {"cellHeight": "sm", "showHeader": True, "sortBy": sort}

    def _transformations(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        fields = {self._field(column["field"], data): column["name"] for column in data["columns"]}
        order = {field: position for position, field in enumerate(fields)}
        return [
            {"id": "merge", "options": {}},
            {"id": "filterFieldsByName", "options": {"include": {"names": list(fields)}}},
            {"id": "organize", "options": {"excludeByName": {}, "indexByName": order, "renameByName": fields}},
        ]

    def _field(self, field: str, data: dict[str, Any]) -> str:
        """Grafana calls the only value `Value` and one of several `Value #A`."""
        if field not in string.ascii_uppercase:
            return field
        return f"Value #{field}" if len(data["targets"]) > 1 else "Value"


def _column_looks(column: dict[str, Any]) -> list[dict[str, Any]]:
    refuse_unknown("column", column, ("field", "name", "unit", "thresholds", "link"))
    looks: list[dict[str, Any]] = []
    if "unit" in column:
        looks.append({"id": "unit", "value": column["unit"]})
    if "thresholds" in column:
        looks.append({"id": "thresholds", "value": {"mode": "absolute", "steps": _steps(column["thresholds"])}})
        looks.append({"id": "custom.cellOptions", "value": {"type": "color-text"}})
        looks.append({"id": "color", "value": {"mode": "thresholds"}})
    if "link" in column:
        looks.append({"id": "links", "value": [{"title": "Open", "url": column["link"]}]})
    return looks


def _override(field: str, properties: list[dict[str, Any]]) -> dict[str, Any]:
    return {"matcher": {"id": "byName", "options": field}, "properties": properties}


def _steps(thresholds: dict[str, float | None]) -> list[dict[str, Any]]:
    return [{"color": color, "value": value} for color, value in thresholds.items()]
