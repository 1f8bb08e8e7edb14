"""Queries of panels to Prometheus."""

from __future__ import annotations

from typing import Any

from grafana_dashboards.components.targets import TargetsItemBase

from dashboards.components.keys import refuse_unknown

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
"""Data source that the viewer selects at the top of the dashboard."""


class PrometheusQuery(TargetsItemBase):  # type: ignore[misc]
    """Query `expr`, whose series are named by `legend`; `instant` asks for the current value only."""

    def gen_json_from_data(self, data: dict[str, Any], context: Any) -> dict[str, Any]:
        refuse_unknown("prometheus-query", data, ("expr", "legend", "instant"))
        instant = bool(data.get("instant", False))
        return {
            "datasource": DATASOURCE,
            "editorMode": "code",
            "expr": " ".join(data["expr"].split()),
            "instant": instant,
            "legendFormat": data.get("legend", "__auto"),
            "range": not instant,
        }
