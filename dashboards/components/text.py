"""Text panels for explanations."""

from __future__ import annotations

from typing import Any

from grafana_dashboards.components.panels import PanelsItemBase

from dashboards.components.keys import refuse_unknown
from dashboards.components.panel import PLUGIN_VERSION


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
