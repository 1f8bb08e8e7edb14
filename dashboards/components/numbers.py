"""Panels of single numbers: as a figure, or as bars."""

from __future__ import annotations

from typing import Any

from dashboards.components.panel import GrafanaPanel, series_links

_LAST: dict[str, Any] = {"calcs": ["lastNotNull"], "fields": "", "values": False}


class StatPanel(GrafanaPanel):
    """One number, with a sparkline unless its query is instant."""

    type = "stat"
    size = (4, 4)

    def field_defaults(self, data: dict[str, Any]) -> dict[str, Any]:
        return super().field_defaults(data) | {"color": {"mode": "thresholds"}}

    def options(self, data: dict[str, Any]) -> dict[str, Any]:
        instant = all(query["instant"] for query in self.queries(data))
        return {
            "graphMode": "none" if instant else "area",
            "reduceOptions": _LAST,
        }


class BarGaugePanel(GrafanaPanel):
    """A bar for each series. `max` is the value of a full bar; `of_queues` links each bar to its queue."""

    type = "bargauge"
    keys = ("max", "of_queues")
    size = (8, 8)

    def field_defaults(self, data: dict[str, Any]) -> dict[str, Any]:
        axis = {"min": 0} | ({"max": data["max"]} if "max" in data else {})
        return super().field_defaults(data) | axis | series_links(data) | {"color": {"mode": "thresholds"}}

    def options(self, data: dict[str, Any]) -> dict[str, Any]:
        return {
            "displayMode": "basic",
            "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": False},
            "maxVizHeight": 40,
            "orientation": "horizontal",
            "reduceOptions": _LAST,
        }
