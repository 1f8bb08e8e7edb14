"""Heatmap panels: histograms over time."""

from __future__ import annotations

from typing import Any

from dashboards.components.panel import GrafanaPanel


class HeatmapPanel(GrafanaPanel):
    """Buckets of a histogram over time. The query gives one series for each `le`; `unit` is the unit of `le`."""

    type = "heatmap"

    def gen_json_from_data(self, data: dict[str, Any], context: Any) -> dict[str, Any]:
        panel = super().gen_json_from_data(data, context)
        for query in panel["targets"]:
            query["format"] = "heatmap"
        return panel

    def field_defaults(self, data: dict[str, Any]) -> dict[str, Any]:
        """Unit of the axis; the values are rates, whose unit stands among the options."""
        return {"custom": {"scaleDistribution": {"type": "linear"}}}

    def options(self, data: dict[str, Any]) -> dict[str, Any]:
        return {
            "calculate": False,
            "cellGap": 1,
            "cellValues": {"decimals": 3, "unit": "ops"},
            "color": {
                "exponent": 0.5,
                "fill": "dark-orange",
                "mode": "scheme",
                "reverse": False,
                "scale": "exponential",
                "scheme": "Oranges",
                "steps": 64,
            },
            "exemplars": {"color": "rgba(255,0,255,0.7)"},
            "filterValues": {"le": 1e-9},
            "legend": {"show": True},
            "rowsFrame": {"layout": "auto"},
            "showValue": "never",
            "tooltip": {"mode": "single", "showColorScale": False, "yHistogram": False},
            "yAxis": {"axisPlacement": "left", "reverse": False, "unit": data["unit"]},
        }
