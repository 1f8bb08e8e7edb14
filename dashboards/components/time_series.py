"""Time series panels: lines over time."""

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
    """Lines over time. `stack` piles them up; `limits` names the series that are thresholds, drawn dashed and red.

    `max` is where the axis ends; `thresholds` are drawn as lines; `of_queues` says that each series is a queue's, and
    links it there.
    """

    type = "timeseries"
    keys = ("stack", "limits", "max", "of_queues")

    def field_defaults(self, data: dict[str, Any]) -> dict[str, Any]:
        stacking = {"group": "A", "mode": "normal" if data.get("stack") else "none"}
        axis = {"min": 0} | ({"max": data["max"]} if "max" in data else {})
        return (
            super().field_defaults(data)
            | axis
            | series_links(data)
            | {
                "color": {"mode": "palette-classic"},
                "custom": {
                    "drawStyle": "line",
                    "fillOpacity": 25 if data.get("stack") else 8,
                    "lineInterpolation": "linear",
                    "lineWidth": 1,
                    "showPoints": "never",
                    "spanNulls": False,
                    "stacking": stacking,
                    "thresholdsStyle": {"mode": "dashed" if "thresholds" in data else "off"},
                },
            }
        )

    def overrides(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        return [override(name, _DASHED) for name in data.get("limits", [])]

    def options(self, data: dict[str, Any]) -> dict[str, Any]:
        return {
            "legend": {"calcs": ["lastNotNull"], "displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
