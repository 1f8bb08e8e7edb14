"""What a panel asks Prometheus."""

from __future__ import annotations

from typing import Any

from grafana_dashboards.components.targets import TargetsItemBase

from dashboards.components.keys import refuse_unknown

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
"""The data source that the viewer chose at the top of the dashboard."""


class PrometheusQuery(TargetsItemBase):  # type: ignore[misc]
    """`expr` and how its series are called (`legend`); `instant` asks for now only."""

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
