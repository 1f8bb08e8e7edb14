"""Plugin for grafana-dashboard-builder: components that it lacks for current Grafana.

Its component types register by being defined, so importing this package makes `stat-panel`, `table-panel`,
`time-series-panel`, `prometheus-query`, `query-variable`, `alerts-annotation` and the others known to the builder's
parser.
"""

from dashboards.components import (
    annotations,
    heatmap,
    numbers,
    queries,
    state_timeline,
    table,
    text,
    time_series,
    variables,
)

__all__ = [
    "annotations",
    "heatmap",
    "numbers",
    "queries",
    "state_timeline",
    "table",
    "text",
    "time_series",
    "variables",
]
