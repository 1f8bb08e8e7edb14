"""Base of all panels, and text panels. Sizes are in grid units: a dashboard is 24 wide, a usual graph 8 high."""

from __future__ import annotations

import string
from typing import Any

from grafana_dashboards.components.panels import PanelsItemBase
from grafana_dashboards.components.targets import Targets

from dashboards.components.keys import refuse_unknown
from dashboards.components.links import of_panel, to_queue
from dashboards.components.queries import DATASOURCE

PLUGIN_VERSION = "11.0.0"  # the oldest Grafana these panels are written for; a newer one migrates from it
EVERY_PANEL = ("title", "description", "width", "height", "targets", "unit", "decimals", "thresholds", "none", "links")


class GrafanaPanel(PanelsItemBase):  # type: ignore[misc]
    """A panel with queries. `thresholds` maps each colour to its lowest value; the first colour has none.

    `none` is the text without a value. `links` maps titles to addresses, shown in the panel's corner.
    """

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
            "links": of_panel(data.get("links", {})),
            "options": self.options(data),
            "pluginVersion": PLUGIN_VERSION,
            "targets": self.queries(data),
            "title": data["title"],
            "type": self.type,
        }

    def queries(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        """Generate the queries of the targets, with the ids A, B, C."""
        queries = self.registry.create_component(Targets, {"targets": data["targets"]}).gen_json()
        return [query | {"refId": letter} for letter, query in zip(string.ascii_uppercase, queries, strict=False)]

    def field_defaults(self, data: dict[str, Any]) -> dict[str, Any]:
        defaults: dict[str, Any] = {
            "thresholds": {"mode": "absolute", "steps": steps(data.get("thresholds", {"green": None}))}
        }
        if "none" in data:
            defaults["noValue"] = data["none"]
        return defaults | {name: data[name] for name in ("unit", "decimals") if name in data}

    def overrides(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        return []

    def options(self, data: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


class TextPanel(PanelsItemBase):  # type: ignore[misc]
    """Panel of Markdown, without queries and data source."""

    def gen_json_from_data(self, data: dict[str, Any], context: Any) -> dict[str, Any]:
        refuse_unknown("text", data, ("title", "description", "content", "width", "height"))
        return {
            "description": " ".join(data["description"].split()),
            "gridPos": {"w": data.get("width", 24), "h": data.get("height", 3)},
            "options": {"content": data["content"].strip(), "mode": "markdown"},
            "pluginVersion": PLUGIN_VERSION,
            "title": data["title"],
            "transparent": True,
            "type": "text",
        }


def override(field: str, properties: list[dict[str, Any]]) -> dict[str, Any]:
    """Override the appearance of a field, selected by its display name."""
    return {"matcher": {"id": "byName", "options": field}, "properties": properties}


def steps(thresholds: dict[str, float | None]) -> list[dict[str, Any]]:
    return [{"color": color, "value": value} for color, value in thresholds.items()]


def series_links(data: dict[str, Any]) -> dict[str, Any]:
    """Links from a series to the queue in its labels, for panels with `of_queues`."""
    if not data.get("of_queues"):
        return {}
    return {"links": to_queue("${__field.labels.tenant:percentencode}", "${__field.labels.queue:percentencode}")}
