"""Annotations on the time axis of every graph of a dashboard."""

from __future__ import annotations

from typing import Any

from grafana_dashboards.components.annotations import AnnotationsItemBase

from dashboards.components.keys import refuse_unknown
from dashboards.components.queries import DATASOURCE

FROM_GRAFANA: dict[str, Any] = {
    "builtIn": 1,
    "datasource": {"type": "grafana", "uid": "-- Grafana --"},
    "enable": True,
    "hide": True,
    "iconColor": "rgba(0, 211, 255, 1)",
    "name": "Annotations & Alerts",
    "type": "dashboard",
}
"""Annotations made on the dashboard itself; Grafana adds this source wherever it is missing."""


class AlertsAnnotation(AnnotationsItemBase):  # type: ignore[misc]
    """Annotations of firing alerts: `expr` selects from Prometheus' own series ALERTS."""

    def gen_json_from_data(self, data: dict[str, Any], context: Any) -> dict[str, Any]:
        refuse_unknown("alerts-annotation", data, ("name", "expr"))
        return {
            "datasource": DATASOURCE,
            "enable": True,
            "hide": False,
            "iconColor": "red",
            "name": data["name"],
            "tagKeys": "severity",
            "target": {"expr": " ".join(data["expr"].split()), "interval": "60s", "refId": "Anno"},
            "textFormat": "{{tenant}} {{queue}}",
            "titleFormat": "{{alertname}}",
            "useValueForTime": False,
        }
