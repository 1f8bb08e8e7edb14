"""Requirements of a dashboard on the Grafana that imports it, as Grafana's own exports state them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

OLDEST_GRAFANA = "11.0.0"

_NAMES = {
    "bargauge": "Bar gauge",
    "heatmap": "Heatmap",
    "stat": "Stat",
    "state-timeline": "State timeline",
    "table": "Table",
    "text": "Text",
    "timeseries": "Time series",
}


def what_it_needs(panels: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The keys `__inputs` and `__requires`.

    No inputs: they are asked for in the import form and nowhere else, so a dashboard with inputs that is provisioned
    from a file would keep its placeholders. The data source is a variable instead, which works both ways.
    """
    types = sorted({panel["type"] for panel in panels} - {"row"})
    return {
        "__inputs": [],
        "__requires": [
            {"id": "grafana", "name": "Grafana", "type": "grafana", "version": OLDEST_GRAFANA},
            {"id": "prometheus", "name": "Prometheus", "type": "datasource", "version": "1.0.0"},
            *({"id": kind, "name": _NAMES[kind], "type": "panel", "version": ""} for kind in types),
        ],
    }
