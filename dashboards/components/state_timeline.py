"""State timelines: which state held when."""

from __future__ import annotations

from typing import Any

from dashboards.components.panel import GrafanaPanel


class StateTimelinePanel(GrafanaPanel):
    """Bar for each series, coloured by value: `states` maps each value to a word and a colour."""

    type = "state-timeline"
    keys = ("states",)
    size = (24, 5)

    def field_defaults(self, data: dict[str, Any]) -> dict[str, Any]:
        words = {
            str(value): {"color": state["color"], "index": index, "text": state["text"]}
            for index, (value, state) in enumerate(data["states"].items())
        }
        return super().field_defaults(data) | {
            "color": {"mode": "thresholds"},
            "custom": {"fillOpacity": 70, "lineWidth": 0, "spanNulls": False},
            "mappings": [{"options": words, "type": "value"}],
        }

    def options(self, data: dict[str, Any]) -> dict[str, Any]:
        return {
            "alignValue": "left",
            "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": False},
            "mergeValues": True,
            "rowHeight": 0.8,
            "showValue": "auto",
            "tooltip": {"mode": "single", "sort": "none"},
        }
