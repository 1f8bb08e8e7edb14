"""Variables that a viewer selects at the top of a dashboard, and annotations on the time axis of its graphs."""

from __future__ import annotations

from typing import Any

from grafana_dashboards.components.annotations import AnnotationsItemBase
from grafana_dashboards.components.templates import TemplatesItemBase

from dashboards.components.keys import refuse_unknown
from dashboards.components.queries import DATASOURCE

SHOWN, HIDDEN = 0, 2
ON_TIME_RANGE_CHANGE = 2
ALPHABETICAL = 5  # sorts alphabetically, ignoring case
LABEL_VALUES = 1  # type of query in Grafana's form for variables
OF_THE_EDITOR = "PrometheusVariableQueryEditor-VariableQuery"


class DatasourceVariable(TemplatesItemBase):  # type: ignore[misc]
    """Choice of the Prometheus data source."""

    def gen_json_from_data(self, data: dict[str, Any], context: Any) -> dict[str, Any]:
        refuse_unknown("datasource-variable", data, ("label",))
        return {
            "current": {},
            "hide": SHOWN,
            "label": data["label"],
            "name": "datasource",
            "options": [],
            "query": "prometheus",
            "refresh": 1,
            "regex": "",
            "type": "datasource",
        }


class QueryVariable(TemplatesItemBase):  # type: ignore[misc]
    """Values of a label: `query` is label_values(series, label). `hidden` variables serve other queries."""

    def gen_json_from_data(self, data: dict[str, Any], context: Any) -> dict[str, Any]:
        refuse_unknown("query-variable", data, ("name", "label", "query", "all", "hidden"))
        choose_all = bool(data.get("all", False))
        variable = {
            "current": {"text": "All", "value": "$__all"} if choose_all else {},
            "datasource": DATASOURCE,
            "definition": data["query"],
            "hide": HIDDEN if data.get("hidden", False) else SHOWN,
            "includeAll": choose_all,
            "multi": choose_all,
            "name": data["name"],
            "options": [],
            "query": {"qryType": LABEL_VALUES, "query": data["query"], "refId": OF_THE_EDITOR},
            "refresh": ON_TIME_RANGE_CHANGE,
            "regex": "",
            "sort": ALPHABETICAL,
            "type": "query",
        }
        if "label" in data:
            variable["label"] = data["label"]
        if choose_all:
            variable["allValue"] = ".*"
        return variable


class TextVariable(TemplatesItemBase):  # type: ignore[misc]
    """Text that a viewer types; `value` is the default."""

    def gen_json_from_data(self, data: dict[str, Any], context: Any) -> dict[str, Any]:
        refuse_unknown("text-variable", data, ("name", "label", "description", "value"))
        chosen = {"selected": True, "text": data["value"], "value": data["value"]}
        return {
            "current": chosen,
            "description": data["description"],
            "hide": SHOWN,
            "label": data["label"],
            "name": data["name"],
            "options": [chosen],
            "query": data["value"],
            "type": "textbox",
        }


FROM_GRAFANA: dict[str, Any] = {
    "builtIn": 1,
    "datasource": {"type": "grafana", "uid": "-- Grafana --"},
    "enable": True,
    "hide": True,
    "iconColor": "rgba(0, 211, 255, 1)",
    "name": "Annotations & Alerts",
    "type": "dashboard",
}
"""Annotations made on the dashboard itself, a source that Grafana adds to every dashboard."""


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
