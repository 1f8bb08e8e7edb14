"""Panels over time: time series, state timelines and heatmaps."""

from __future__ import annotations

from typing import Any

from dashboards.components.panel import GrafanaPanel, override, series_links

_DASHED: list[dict[str, Any]] = [
    {"id": "color", "value": {"fixedColor": "red", "mode": "fixed"}},
    {"id": "custom.fillOpacity", "value": 0},
    {"id": "custom.lineStyle", "value": {"dash": [10, 10], "fill": "dash"}},
    {"id": "custom.stacking", "value": {"group": "A", "mode": "none"}},
]


class TimeSeriesPanel(GrafanaPanel):
    """Lines over time. `stack` stacks them; `limits` names series that are drawn as dashed red lines.

    `max` is the end of the axis; `thresholds` are drawn as lines; `of_queues` links each series to its queue.
    """

    type = "timeseries"
    keys = ("stack", "limits", "max", "of_queues")

    def field_defaults(self, data: dict[str, Any]) -> dict[str, Any]:
        axis = {"min": 0} | ({"max": data["max"]} if "max" in data else {})
        style = {
            "drawStyle": "line",
            "fillOpacity": 25 if data.get("stack") else 8,
            "lineInterpolation": "linear",
            "lineWidth": 1,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"group": "A", "mode": "normal" if data.get("stack") else "none"},
            "thresholdsStyle": {"mode": "dashed" if "thresholds" in data else "off"},
        }
        color = {"color": {"mode": "palette-classic"}}
        return super().field_defaults(data) | axis | series_links(data) | color | {"custom": style}

    def overrides(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        return [override(name, _DASHED) for name in data.get("limits", [])]

    def options(self, data: dict[str, Any]) -> dict[str, Any]:
        return {
            "legend": {"calcs": ["lastNotNull"], "displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }


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
        legend = {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": False}
        return {"legend": legend, "rowHeight": 0.8, "tooltip": {"mode": "single", "sort": "none"}}


class HeatmapPanel(GrafanaPanel):
    """Buckets of a histogram over time. The query gives one series for each `le`; `unit` is the unit of `le`."""

    type = "heatmap"

    def gen_json_from_data(self, data: dict[str, Any], context: Any) -> dict[str, Any]:
        panel = super().gen_json_from_data(data, context)
        for query in panel["targets"]:
            query["format"] = "heatmap"
        return panel

    def field_defaults(self, data: dict[str, Any]) -> dict[str, Any]:
        """Leave out units: values are rates, and the axis has its unit in the options."""
        return {"custom": {"scaleDistribution": {"type": "linear"}}}

    def options(self, data: dict[str, Any]) -> dict[str, Any]:
        return {
            "cellValues": {"decimals": 3, "unit": "ops"},
            "color": {
                "exponent": 0.5,
                "fill": "dark-orange",
                "mode": "scheme",
                "scale": "exponential",
                "scheme": "Oranges",
                "steps": 64,
            },
            "rowsFrame": {"layout": "auto"},
            "showValue": "never",
            "tooltip": {"mode": "single", "showColorScale": False, "yHistogram": False},
            "yAxis": {"axisPlacement": "left", "reverse": False, "unit": data["unit"]},
        }
