"""Our plugin for grafana-dashboard-builder: what it lacks for the Grafana of today.

Its component types register by being defined, so importing this package makes `stat-panel`, `table-panel`,
`time-series-panel`, `prometheus-query`, `query-variable` and `datasource-variable` known to the builder's parser.
"""

from dashboards.components import panels, queries, variables

__all__ = ["panels", "queries", "variables"]
