"""Plugin for grafana-dashboard-builder: components for current versions of Grafana.

Importing this package registers its component types (`stat-panel`, `prometheus-query`, `query-variable` and others)
with the builder's parser. Panels leave out the options that have Grafana's default value.
"""

from dashboards.components import graphs, numbers, panel, queries, table, variables

__all__ = ["graphs", "numbers", "panel", "queries", "table", "variables"]
